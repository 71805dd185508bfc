//! Which packets go to sockets: the redirect program and its map of sockets.
