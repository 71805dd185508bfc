//! Datagrams that balancers send each other.

use functions::balancer::sync::{Key, open, wire};

/// Any bytes as a datagram without its tag: what is read is written and read alike.
pub fn datagram(bytes: &[u8]) {
    let Ok(key) = Key::new(b"a key of sixteen bytes") else { return };
    assert!(open(&key, bytes).is_err(), "a tag cannot be guessed");
    let Some((header, message)) = wire::read(bytes) else { return };
    let again = wire::seal(&key, header, &message);
    if again.len() <= wire::LARGEST {
        assert_eq!(open(&key, &again), Ok((header, message)), "what is written is read");
    }
}
