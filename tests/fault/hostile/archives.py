"""Archives: bombs, names and links that lead out of the target, headers that make no sense."""

import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib

from . import Hostile
from .images import baseline, zeros_deflated

GIB = 1 << 30
MIB = 1 << 20
IMAGE = baseline(8, 8, b"\x0f")
# Files that must never be written: run.py looks for them beside and above the target.
ESCAPES = {
    "parent": "../../../escaped/a.jpg",
    "absolute": "/tmp/packhorse-escaped/cat/a.jpg",
    "hidden-parent": "cat/../../../escaped/b.jpg",
    "dot-dot-end": "cat/..",
    "backslash": "cat\\..\\..\\escaped.jpg",
}
ODD_NAMES = {
    "newline": "cat/a\nb.jpg",
    "escape": "cat/\x1b[31m\x1b]0;owned\x07.jpg",
    "c1": "cat/\x9b31mred.jpg",
    "bidi": "cat/\u202egpj.exe.jpg",
    "tab": "cat/a\tb.jpg",
    "long": "cat/" + "n" * 5000 + ".jpg",
    "deep": "d/" * 2000 + "a.jpg",
    "empty-parts": "cat////a.jpg",
    "dot": "./././.",
    "class-dash": "-rf/a.jpg",
    "class-dots": "cat/./.../a.jpg",
    "surrogate": "cat/a\udcff.jpg",
}


def tar(members, format=tarfile.GNU_FORMAT):
    """`members`: (name, bytes) or a TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format, encoding="utf-8", errors="surrogateescape") as archive:
        for member in members:
            info = member
            data = b""
            if isinstance(member, tuple):
                info, data = tarfile.TarInfo(member[0]), member[1]
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if data else None)
    return out.getvalue()


def special(name, kind, link="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    info.devmajor, info.devminor = 1, 5
    return info


def header(name, size, kind=b"0", size_field=None):
    """One header block with the right checksum, whatever it says."""
    field = b"%011o\0" % size if size_field is None else size_field
    block = bytearray(name.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + field + b"00000000000\0"
                      + b" " * 8 + kind + b"\0" * 100 + b"ustar\x0000")
    block += b"\0" * (512 - len(block))
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def big_endian(size):
    """A size in base 256."""
    return b"\x80" + size.to_bytes(11, "big")


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def zip_parts(name, deflated, size, crc, offset):
    common = struct.pack("<HHHIIIIHH", 0x800, 8, 0, 0x21, crc, len(deflated), size, len(name), 0)
    local = b"PK\3\4" + struct.pack("<H", 20) + common + name
    central = b"PK\1\2" + struct.pack("<HH", 20, 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name
    return local, central


def zip_end(entries, size, offset):
    return b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, entries, entries, size, offset, 0)


def zip_bomb(size, claimed=None):
    """A zip of one member of zeros, whose headers may lie about it."""
    deflated = zeros_deflated(size)[2:-4]
    crc = 0
    block = b"\0" * MIB
    for _ in range(size // MIB):
        crc = zlib.crc32(block, crc)
    local, central = zip_parts(b"cat/a.jpg", deflated, size if claimed is None else claimed, crc, 0)
    return local + deflated + central + zip_end(1, len(central), len(local) + len(deflated))


def overlapping_zip(entries):
    """Many names for the bytes of one member (Fifield's bomb)."""
    deflated = zeros_deflated(16 * MIB)[2:-4]
    crc = zlib.crc32(b"\0" * 16 * MIB)
    local, _ = zip_parts(b"cat/0.jpg", deflated, 16 * MIB, crc, 0)
    central = b"".join(zip_parts(b"cat/%d.jpg" % i, deflated, 16 * MIB, crc, 0)[1] for i in range(entries))
    return local + deflated + central + zip_end(entries, len(central), len(local) + len(deflated))


def zstd_of_zeros(start, size):
    """A frame (RFC 8878) of `start` and many zeros: blocks that repeat one byte."""
    block = 128 << 10
    parts = [b"\x28\xb5\x2f\xfd", b"\x00", b"\x38"]  # no size, no checksum, a window of 128 KiB
    parts.append((len(start) << 3).to_bytes(3, "little") + start)
    full, rest = divmod(size, block)
    parts.append(((block << 3 | 2).to_bytes(3, "little") + b"\0") * full)
    parts.append((rest << 3 | 2 | 1).to_bytes(3, "little") + b"\0")
    return b"".join(parts)


def gzip_of_zeros(start, size):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    begin = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    first = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(start)
    for _ in range(size // MIB):
        crc = zlib.crc32(b"\0" * MIB, crc)
    end = packer.flush()
    body = begin + first + again * (size // MIB - 1) + end
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<II", crc, (len(start) + size) & 0xFFFFFFFF)


def nested(depth):
    inner = tar([("cat/a.jpg", IMAGE)])
    for i in range(depth):
        inner = tar([(f"level{i}.tar.gz", gzip.compress(inner, mtime=0))])
    return inner


def files():
    bomb_head = header("cat/a.jpg", 4 * GIB - 512)
    good = ("cat/good.jpg", IMAGE)
    made = {
        "bomb.zip": lambda: zip_bomb(2 * GIB - MIB),
        "bomb-belied.zip": lambda: zip_bomb(GIB, 100),
        "bomb-overlapping.zip": lambda: overlapping_zip(1000),
        "bomb-nested.zip": lambda: zip_of([("in.zip", zip_bomb(GIB)), ("cat/b.jpg", IMAGE)]),
        "bomb.tar.gz": lambda: gzip_of_zeros(bomb_head, 4 * GIB),
        "bomb-padding.tar.gz": lambda: gzip_of_zeros(tar([good]), 4 * GIB),
        "bomb.tar.zst": lambda: zstd_of_zeros(bomb_head, 4 * GIB),
        "bomb.tar.xz": lambda: lzma.compress(tar([good]) + b"\0" * 256 * MIB, preset=0),
        "bomb-in-tar.tar": lambda: tar([("in.tar.zst", zstd_of_zeros(bomb_head, 4 * GIB)), good]),
        "nested-20.tar": lambda: nested(20),
        "links-loop.tar": tar([special("cat/a.jpg", tarfile.SYMTYPE, "b.jpg"),
                               special("cat/b.jpg", tarfile.SYMTYPE, "a.jpg"), good]),
        "links-outside.tar": tar([special("cat", tarfile.SYMTYPE, "/tmp/packhorse-escaped"), ("cat/a.jpg", IMAGE),
                                  special("x/p.jpg", tarfile.LNKTYPE, "/etc/passwd"),
                                  special("x/q.jpg", tarfile.LNKTYPE, "../../../etc/passwd"), good]),
        "devices.tar": tar([special("cat/zero.jpg", tarfile.CHRTYPE), special("cat/disk.jpg", tarfile.BLKTYPE),
                            special("cat/pipe.jpg", tarfile.FIFOTYPE), good]),
        "size-octal.tar": header("cat/a.jpg", 0, size_field=b"777777777777") + IMAGE,
        "size-base-256.tar": header("cat/a.jpg", 0, size_field=big_endian(1 << 62)) + IMAGE,
        "size-negative.tar": header("cat/a.jpg", 0, size_field=b"\xff" * 12) + IMAGE,
        "name-of-2-gib.tar": header("././@LongLink", 2 * GIB, b"L") + b"n" * 4096,
        "pax-of-2-gib.tar": header("x", 2 * GIB, b"x") + b"11 path=ab\n" * 100,
        "pax-length.tar": header("x", 512, b"x") + b"99999999999999999999 path=a\n".ljust(512, b"\0"),
        "pax-size.tar": header("x", 512, b"x") + b"28 size=9223372036854775807\n".ljust(512, b"\0")
        + header("cat/a.jpg", 10),
        "pax-sparse.tar": header("x", 512, b"x")
        + b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n37 GNU.sparse.realsize=9000000000000000\n".ljust(512, b"\0")
        + header("cat/a.jpg", 512) + b"1\n0\n9000000000000000\n".ljust(512, b"\0"),
        "gnu-sparse.tar": header("cat/a.jpg", 512, b"S"),
        "volume.tar": header("cat/a.jpg", 512, b"M") + b"\0" * 512,
        "nul-name.tar": tar([good]).replace(b"cat/good.jpg", b"cat/g\0od.jpg"),
        "100000-members.tar": lambda: tar([(f"cat/{i}.jpg", b"") for i in range(100_000)]),
        "100000-long-names.tar.gz": lambda: gzip.compress(
            tar([("cat/" + "n" * 150 + f"{i}.jpg", b"") for i in range(100_000)]), 1, mtime=0),
        "json-deep.tar": lambda: tar([("a.jpg", IMAGE), ("a.json", b"[" * (8 * MIB))]),
        "json-deep-object.tar": lambda: tar([("a.jpg", IMAGE), ("a.json", b'{"a":' * MIB + b"1" + b"}" * MIB)]),
        "label-numbers.tar": tar([("a.jpg", IMAGE), ("a.cls", b"99999999999999999999"), ("b.jpg", IMAGE),
                                  ("b.cls", b"-1"), ("c.jpg", IMAGE), ("c.cls", b"9223372036854775807")]),
        "label-control.tar": tar([("a.jpg", IMAGE), ("a.cls", b"\x1b[2J")]),
        "central-far.zip": zip_of([good])[:-6] + struct.pack("<I", 0xFFFFFFF0) + b"\0\0",
        "central-count.zip": zip_of([good])[:-14] + b"\xff\xff\xff\xff" + zip_of([good])[-10:],
        "encrypted.zip": zip_of([good]).replace(b"PK\3\4\x14\0\0\0", b"PK\3\4\x14\0\1\0").replace(
            b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"),
        "link.zip": lambda: link_zip(),
        "cut.zip": zip_of([good, ("cat/c.jpg", IMAGE * 10)])[:-30],
        "cut.tar": tar([good, ("cat/c.jpg", IMAGE * 10)])[:2000],
        "flipped.tar.gz": bytes(b ^ (0x10 if i == 60 else 0) for i, b in enumerate(gzip.compress(tar([good]), mtime=0))),
    }
    for name, path in {**ESCAPES, **ODD_NAMES}.items():
        made[f"name-{name}.tar"] = tar([(path, IMAGE), good])
        made[f"name-{name}-pax.tar"] = tar([(path, IMAGE), good], tarfile.PAX_FORMAT)
        if name != "surrogate":
            made[f"name-{name}.zip"] = zip_of([(path, IMAGE), good])
    return made


def link_zip():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("cat/a.jpg")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("cat/good.jpg", IMAGE)
    return out.getvalue()


def entries():
    def writer(content):
        return lambda path: path.write_bytes(content() if callable(content) else content)

    return [Hostile(name, "archive", writer(content)) for name, content in files().items()]
