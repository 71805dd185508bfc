//! Red-black trees of allocated objects: roots in map values or objects, nodes in objects.
//!
//! ```text
//! bpf_rb_root: 0 root, 8 leftmost     bpf_rb_node: 0 parent and color, 8 right, 16 left, 24 owner
//! ```
//!
//! Rule: the tree is balanced exactly like the kernel's `lib/rbtree.c`, because programs can see
//! its shape (`bpf_rbtree_root`, `_left`, `_right`). The low bit of a parent link is set in a black
//! node.

use super::{KfuncRow, field, int, kfunc_row, object, release};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::interpreter;
use crate::maps::FieldKind;
use crate::objects::{TREE_CHILDREN, TREE_OWNER};
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_rbtree_add_impl", add),
    kfunc_row("bpf_rbtree_remove", remove),
    kfunc_row("bpf_rbtree_first", |processor, args| {
        processor.load_u64("bpf_rbtree_first", 1, args[0].wrapping_add(LEFTMOST))
    }),
    kfunc_row("bpf_rbtree_root", |processor, args| {
        processor.load_u64("bpf_rbtree_root", 1, args[0])
    }),
    kfunc_row("bpf_rbtree_left", |processor, args| child("bpf_rbtree_left", processor, args, LEFT)),
    kfunc_row("bpf_rbtree_right", |processor, args| {
        child("bpf_rbtree_right", processor, args, RIGHT)
    }),
];

fn add(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_rbtree_add_impl";
    let [root, node, less, ..] = *args;
    field::check_field(processor, NAME, 1, root, |kind| kind == FieldKind::RbRoot)?;
    field::check_field(processor, NAME, 2, node, |kind| kind == FieldKind::RbNode)?;
    let object = object::object_at(processor, NAME, 2, node)?;
    processor.disown(object)?;
    if processor.load_u64(NAME, 2, node.wrapping_add(TREE_OWNER))? != 0 {
        release::drop_object(processor, object);
        return Ok(int(Errno::EINVAL));
    }
    let mut tree = Tree::new(NAME, processor, root);
    let (mut parent, mut link, mut leftmost) = (0, root, true);
    loop {
        let next = tree.load(link)?;
        if next == 0 {
            break;
        }
        tree.step()?;
        parent = next;
        let before =
            interpreter::call_back(tree.processor, less, [node, parent, 0, 0, 0])? & 0xff != 0;
        leftmost &= before;
        link = parent.wrapping_add(if before { LEFT } else { RIGHT });
    }
    tree.link(node, parent, link)?;
    if leftmost {
        tree.store(root.wrapping_add(LEFTMOST), node)?;
    }
    tree.balance_added(node)?;
    Ok(0)
}

fn remove(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_rbtree_remove";
    let [root, node, ..] = *args;
    if processor.load_u64(NAME, 2, node.wrapping_add(TREE_OWNER))? != root {
        return Ok(0);
    }
    let object = object::object_at(processor, NAME, 2, node)?;
    let mut tree = Tree::new(NAME, processor, root);
    if tree.load(root.wrapping_add(LEFTMOST))? == node {
        let next = tree.next(node)?;
        tree.store(root.wrapping_add(LEFTMOST), next)?;
    }
    let (from, child_is_short) = tree.unlink(node)?;
    if child_is_short {
        tree.balance_removed(from)?;
    }
    for offset in [0, RIGHT, LEFT, TREE_OWNER] {
        tree.store(node.wrapping_add(offset), 0)?;
    }
    processor.objects.own(object);
    Ok(node)
}

fn child(
    name: &str,
    processor: &mut Processor,
    args: &[u64; 5],
    side: u64,
) -> Result<u64, Box<Fault>> {
    let [root, node, ..] = *args;
    if processor.load_u64(name, 2, node.wrapping_add(TREE_OWNER))? != root {
        return Ok(0);
    }
    processor.load_u64(name, 2, node.wrapping_add(side))
}

/// A tree during a change.
struct Tree<'a> {
    name: &'static str,
    processor: &'a mut Processor,
    root: u64,
    /// Number of links followed: a cyclic tree must not be followed forever.
    steps: u32,
}

impl<'a> Tree<'a> {
    fn new(name: &'static str, processor: &'a mut Processor, root: u64) -> Self {
        Self { name, processor, root, steps: 0 }
    }

    fn load(&self, at: u64) -> Result<u64, Box<Fault>> {
        self.processor.load_u64(self.name, 1, at)
    }

    fn store(&mut self, at: u64, value: u64) -> Result<(), Box<Fault>> {
        self.processor.store_u64(self.name, 1, at, value)
    }

    fn step(&mut self) -> Result<(), Box<Fault>> {
        self.steps += 1;
        if self.steps < STEPS { Ok(()) } else { Err(Fault::new(Cause::TreeCycle)) }
    }

    fn parent(&self, node: u64) -> Result<u64, Box<Fault>> {
        Ok(self.load(node)? & !BLACK)
    }

    fn set_parent(&mut self, node: u64, parent: u64) -> Result<(), Box<Fault>> {
        let color = self.load(node)? & BLACK;
        self.store(node, parent | color)
    }

    fn color(&self, node: u64) -> Result<u64, Box<Fault>> {
        if node == 0 { Ok(BLACK) } else { Ok(self.load(node)? & BLACK) }
    }

    fn paint(&mut self, node: u64, color: u64) -> Result<(), Box<Fault>> {
        let parent = self.parent(node)?;
        self.store(node, parent | color)
    }

    fn side_of(&self, node: u64, parent: u64) -> Result<u64, Box<Fault>> {
        Ok(if self.load(parent.wrapping_add(LEFT))? == node { LEFT } else { RIGHT })
    }

    /// Replaces `old` by `new` under `parent`, or at the root.
    fn replace(&mut self, old: u64, new: u64, parent: u64) -> Result<(), Box<Fault>> {
        let place = match parent {
            0 => self.root,
            parent => parent.wrapping_add(self.side_of(old, parent)?),
        };
        self.store(place, new)
    }

    /// Inserts a red node at `link`.
    fn link(&mut self, node: u64, parent: u64, link: u64) -> Result<(), Box<Fault>> {
        let root = self.root;
        for (offset, value) in [(0, parent), (RIGHT, 0), (LEFT, 0), (TREE_OWNER, root)] {
            self.store(node.wrapping_add(offset), value)?;
        }
        self.store(link, node)
    }

    /// Moves `node` down to its `side`; the child on the other side replaces it.
    fn rotate(&mut self, node: u64, side: u64) -> Result<(), Box<Fault>> {
        self.step()?;
        let other = opposite(side);
        let (pivot, parent) = (self.load(node.wrapping_add(other))?, self.parent(node)?);
        let inner = self.load(pivot.wrapping_add(side))?;
        self.store(node.wrapping_add(other), inner)?;
        if inner != 0 {
            self.set_parent(inner, node)?;
        }
        self.replace(node, pivot, parent)?;
        self.set_parent(pivot, parent)?;
        self.store(pivot.wrapping_add(side), node)?;
        self.set_parent(node, pivot)
    }

    fn balance_added(&mut self, added: u64) -> Result<(), Box<Fault>> {
        let mut node = added;
        loop {
            self.step()?;
            let parent = self.parent(node)?;
            if parent == 0 {
                return self.paint(node, BLACK);
            }
            if self.color(parent)? == BLACK {
                return Ok(());
            }
            let grandparent = self.parent(parent)?;
            let side = self.side_of(parent, grandparent)?;
            let uncle = self.load(grandparent.wrapping_add(opposite(side)))?;
            if self.color(uncle)? == BLACK {
                return self.turn_added(node, parent, grandparent, side);
            }
            self.paint(uncle, BLACK)?;
            self.paint(parent, BLACK)?;
            self.paint(grandparent, RED)?;
            node = grandparent;
        }
    }

    fn turn_added(
        &mut self,
        node: u64,
        parent: u64,
        grandparent: u64,
        side: u64,
    ) -> Result<(), Box<Fault>> {
        let mut top = parent;
        if self.load(parent.wrapping_add(opposite(side)))? == node {
            self.rotate(parent, side)?;
            top = node;
        }
        self.rotate(grandparent, opposite(side))?;
        self.paint(top, BLACK)?;
        self.paint(grandparent, RED)
    }

    /// The next node in order.
    fn next(&mut self, node: u64) -> Result<u64, Box<Fault>> {
        let right = self.load(node.wrapping_add(RIGHT))?;
        if right != 0 {
            return self.first_under(right);
        }
        let (mut node, mut parent) = (node, self.parent(node)?);
        while parent != 0 && self.load(parent.wrapping_add(RIGHT))? == node {
            self.step()?;
            (node, parent) = (parent, self.parent(parent)?);
        }
        Ok(parent)
    }

    fn first_under(&mut self, node: u64) -> Result<u64, Box<Fault>> {
        let mut first = node;
        loop {
            self.step()?;
            match self.load(first.wrapping_add(LEFT))? {
                0 => return Ok(first),
                left => first = left,
            }
        }
    }

    /// Removes a node. Returns the node under which a branch may lack a black node, and whether it
    /// does.
    fn unlink(&mut self, node: u64) -> Result<(u64, bool), Box<Fault>> {
        let (left, right) =
            (self.load(node.wrapping_add(LEFT))?, self.load(node.wrapping_add(RIGHT))?);
        let (parent, was_black) = (self.parent(node)?, self.color(node)? == BLACK);
        if left == 0 || right == 0 {
            let only = left | right;
            self.replace(node, only, parent)?;
            if only == 0 {
                return Ok((parent, was_black && parent != 0));
            }
            let color = self.color(node)?;
            self.store(only, parent | color)?;
            return Ok((parent, false));
        }
        self.unlink_inner(node, left, right)
    }

    /// Removes a node with two children: the next node in order replaces it.
    fn unlink_inner(
        &mut self,
        node: u64,
        left: u64,
        right: u64,
    ) -> Result<(u64, bool), Box<Fault>> {
        let heir = self.first_under(right)?;
        let (orphan, heir_black) =
            (self.load(heir.wrapping_add(RIGHT))?, self.color(heir)? == BLACK);
        let mut from = heir;
        if heir != right {
            from = self.parent(heir)?;
            self.store(from.wrapping_add(LEFT), orphan)?;
            self.store(heir.wrapping_add(RIGHT), right)?;
            self.set_parent(right, heir)?;
        }
        self.store(heir.wrapping_add(LEFT), left)?;
        self.set_parent(left, heir)?;
        let (place, parent) = (self.load(node)?, self.parent(node)?);
        self.replace(node, heir, parent)?;
        self.store(heir, place)?;
        if orphan != 0 {
            self.store(orphan, from | BLACK)?;
            return Ok((from, false));
        }
        Ok((from, heir_black))
    }

    /// Rebalances after a removal: one branch under `from`, empty at first, lacks a black node.
    fn balance_removed(&mut self, from: u64) -> Result<(), Box<Fault>> {
        let (mut short, mut parent) = (0, from);
        loop {
            self.step()?;
            let side = if self.load(parent.wrapping_add(RIGHT))? == short { RIGHT } else { LEFT };
            let other = opposite(side);
            let mut sibling = self.load(parent.wrapping_add(other))?;
            if self.color(sibling)? == RED {
                self.rotate(parent, side)?;
                self.paint(sibling, BLACK)?;
                self.paint(parent, RED)?;
                sibling = self.load(parent.wrapping_add(other))?;
            }
            let (near, far) =
                (self.load(sibling.wrapping_add(side))?, self.load(sibling.wrapping_add(other))?);
            if self.color(far)? == RED || self.color(near)? == RED {
                return self.turn_removed(parent, sibling, side);
            }
            self.paint(sibling, RED)?;
            if self.color(parent)? == RED {
                return self.paint(parent, BLACK);
            }
            (short, parent) = (parent, self.parent(parent)?);
            if parent == 0 {
                return Ok(());
            }
        }
    }

    fn turn_removed(&mut self, parent: u64, sibling: u64, side: u64) -> Result<(), Box<Fault>> {
        let other = opposite(side);
        let mut top = sibling;
        if self.color(self.load(sibling.wrapping_add(other))?)? == BLACK {
            top = self.load(sibling.wrapping_add(side))?;
            self.rotate(sibling, other)?;
            self.paint(sibling, RED)?;
        }
        let (color, far) = (self.color(parent)?, self.load(top.wrapping_add(other))?);
        self.rotate(parent, side)?;
        self.paint(top, color)?;
        self.paint(parent, BLACK)?;
        self.paint(far, BLACK)
    }
}

const fn opposite(side: u64) -> u64 {
    RIGHT + LEFT - side
}

/// Offsets of a node's children.
const LEFT: u64 = TREE_CHILDREN[0];
const RIGHT: u64 = TREE_CHILDREN[1];
const LEFTMOST: u64 = 8;
const BLACK: u64 = 1;
const RED: u64 = 0;
/// Maximum number of links, far above the depth of a balanced tree of all objects of the heap.
const STEPS: u32 = 1 << 12;
