"""An XDP program under pytest, without root: `pip install . && pytest examples/python`."""

import pathlib
import struct

import pytest
import xway

OBJECTS = pathlib.Path(__file__).parents[2] / "bpf" / "prebuilt"


def udp(port):
    """An Ethernet frame with IPv4 and UDP to 10.1.0.2."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, b"\n\0\0\1", b"\n\1\0\2")
    return bytes(12) + b"\x08\x00" + ip + struct.pack("!HHHH", 4000, port, 8, 0)


@pytest.mark.parametrize("port, verdict", [(1234, "drop"), (80, "pass")])
def test_one_port_is_dropped(port, verdict):
    machine = xway.Machine(OBJECTS / "test" / "talk_drop.o")
    assert machine.run(udp(port)).verdict == verdict


def test_packets_are_counted_and_sent_back():
    machine = xway.Machine(OBJECTS / "test" / "paper_count.o", cpus=2)
    outcome = machine.run(udp(53), ifindex=7)
    assert outcome.verdict == "tx"
    assert [output.port for output in outcome.outputs] == ["interface 7"]
    counts = machine.maps["rxcnt"]
    assert counts[17] == [struct.pack("=q", 1), bytes(8)]
    counts[17] = [5, 6]
    machine.run(udp(53))
    assert counts[17][0] == struct.pack("=q", 6)


def test_records_are_taken():
    machine = xway.Machine(OBJECTS / "test" / "maps.o", program="use_all")
    machine.run(udp(53))
    assert machine.records("events") == [struct.pack("=I", 2)]
    with pytest.raises(xway.Error, match="EOPNOTSUPP"):
        machine.records("flows")


def test_errors_say_what_is_wrong():
    with pytest.raises(xway.Error, match="not an ELF|ELF"):
        xway.Machine(__file__)
    machine = xway.Machine(OBJECTS / "test" / "paper_count.o")
    with pytest.raises(xway.Error, match="4 bytes"):
        machine.maps["rxcnt"][b"x"]
    with pytest.raises(KeyError):
        machine.maps["rxcnt"][100_000]
    with pytest.raises(KeyError):
        machine.maps["absent"]


def test_maps_are_mappings():
    counts = xway.Machine(OBJECTS / "test" / "paper_count.o").maps["rxcnt"]
    keys = list(counts)
    assert len(keys) == len(counts) and struct.pack("=I", 17) in keys
    assert 17 in counts and 100_000 not in counts
    assert counts.get(17) == counts[17] == dict(counts.items())[struct.pack("=I", 17)]
    assert counts.get(100_000) is None and counts.get(100_000, 7) == 7
    assert sorted(map(str, counts.values())) == sorted(str(counts[key]) for key in counts)


def test_the_package_has_a_version_and_types():
    assert xway.__version__.count(".") == 2
    files = {path.name for path in pathlib.Path(xway.__file__).parent.iterdir()}
    assert {"py.typed", "__init__.pyi"} <= files


def test_the_guide_is_true(monkeypatch):
    """Runs the code of `docs/python.md`, from the folder of the clone."""
    root = pathlib.Path(__file__).parents[2]
    monkeypatch.chdir(root)
    parts = (root / "docs" / "python.md").read_text().split("```python\n")[1:]
    code = "\n".join(part.split("```")[0] for part in parts)
    assert len(parts) == 3
    exec(compile(code, "docs/python.md", "exec"), {})
