"""Images with sizes their bytes cannot have, endless work, and nonsensical headers."""

import struct
import zlib

from . import Hostile

MIB = 1 << 20


# --- JPEG: grey, one quantisation table, one Huffman table of each class ---


def segment(marker, body):
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def huffman(table_class, symbols, length):
    """Gives all symbols codes of one length."""
    counts = bytes(len(symbols) if i + 1 == length else 0 for i in range(16))
    return segment(0xC4, bytes([table_class << 4]) + counts + bytes(symbols))


def frame(marker, width, height, components=1):
    body = struct.pack(">BHHB", 8, height, width, components)
    return segment(marker, body + b"".join(bytes([1 + i, 0x11, 0]) for i in range(components)))


def scan(first, last, high, low, data):
    return segment(0xDA, bytes([1, 1, 0x00, first, last, high << 4 | low])) + data


QUANTISATION = segment(0xDB, b"\0" + b"\x10" * 64)
SOI, EOI = b"\xff\xd8", b"\xff\xd9"


def baseline(width, height, data, restart=None):
    tables = QUANTISATION + huffman(0, [0, 1], 2) + huffman(1, [0, 1], 2)
    interval = segment(0xDD, struct.pack(">H", restart)) if restart else b""
    return SOI + tables + interval + frame(0xC0, width, height) + scan(0, 63, 0, 0, data) + EOI


class Bits:
    def __init__(self):
        self.value, self.count, self.out = 0, 0, bytearray()

    def put(self, value, count):
        self.value = self.value << count | value
        self.count += count
        while self.count >= 8:
            self.count -= 8
            byte = self.value >> self.count & 0xFF
            self.out += bytes([byte, 0]) if byte == 0xFF else bytes([byte])
        self.value &= (1 << self.count) - 1

    def finish(self):
        while self.count:
            self.put(1, 1)
        return bytes(self.out)


def empty_ac_scan(blocks):
    """End-of-block runs over all blocks: EOBn, its code in four bits, and n bits."""
    bits = Bits()
    while blocks:
        n = min(14, blocks.bit_length() - 1)
        run = min(blocks, (2 << n) - 1)
        bits.put(n, 4)
        if n:
            bits.put(run - (1 << n), n)
        blocks -= run
    return bits.finish()


def progressive(width, height, scans):
    """A valid picture of one grey, each of whose scans covers all blocks in some 200 bytes."""
    blocks = -(-width // 8) * -(-height // 8)
    ac = empty_ac_scan(blocks)
    parts = [SOI, QUANTISATION, huffman(0, [0, 1], 1 + 1), huffman(1, [n << 4 for n in range(15)], 4)]
    parts += [frame(0xC2, width, height), scan(0, 0, 0, 0, b"\0" * -(-blocks * 2 // 8))]
    left = scans
    for coefficient in range(1, 64):
        for low in range(13, -1, -1):
            if left == 0:
                break
            parts.append(scan(coefficient, coefficient, 0 if low == 13 else low + 1, low, ac))
            left -= 1
    return b"".join([*parts, EOI])


# --- PNG ---


def chunk(kind, body=b""):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_header(width, height, depth=8, colour=2, interlace=0):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def zeros_deflated(size):
    """A zlib stream of zeros, made by repeating one piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(b"\0" * (size % MIB)) + packer.flush()
    body = first + again * (size // MIB - 1) if size >= MIB else b""
    return b"\x78\xda" + body + end + struct.pack(">I", size % 65521 << 16 | 1)


def png(width, height, depth=8, colour=2, data=None, before=b"", interlace=0):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour, 1)
    size = height * (1 + -(-width * channels * depth // 8))
    data = zeros_deflated(size) if data is None else data
    return png_header(width, height, depth, colour, interlace) + before + chunk(b"IDAT", data) + chunk(b"IEND")


def texts(count):
    """As many texts of nearly 8 MiB, which is what libpng takes of one."""
    packed = zlib.compress(b"x" * 7_900_000, 9)
    return b"".join(chunk(b"zTXt", b"k%d\0\0" % i + packed) for i in range(count))


# --- others ---


def riff(*chunks):
    body = b"WEBP" + b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def vp8l(width, height):
    return b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + b"\0" * 40


def bmp(width, height, bits=24, compression=0, data=b"\0" * 64, offset=54, header=40):
    body = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 14 + len(body) + len(data), 0, 0, offset) + body + data


def tiff(tags, data=b"\0" * 64, entries=None, next_directory=0):
    """`tags`: (number, type, count, value). The pixels lie at 4096."""
    table = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    count = len(tags) if entries is None else entries
    head = b"II*\0" + struct.pack("<IH", 8, count) + table + struct.pack("<I", next_directory)
    return head.ljust(4096, b"\0") + data


def picture(width, height, bits=8, samples=1, compression=1, strips=1, bytes_=64, extra=()):
    return [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, compression), (262, 3, 1, 1),
            (273, 4, strips, 4096), (277, 3, 1, samples), (278, 4, 1, height), (279, 4, strips, bytes_), *extra]


def files():
    """name -> bytes, or a function that makes them."""
    small = baseline(8, 8, b"\x0f")
    made = {
        # Sizes that the bytes cannot have.
        "jpeg-65500x65500.jpg": baseline(65500, 65500, b"\0" * 64),
        "jpeg-13000x13000-cut.jpg": baseline(13000, 13000, b"\0" * 64),
        "jpeg-8x65500.jpg": baseline(8, 65500, b"\0" * 3),
        "jpeg-65500x8.jpg": baseline(65500, 8, b"\0" * 3),
        "jpeg-8x65500-restarts.jpg": baseline(8, 65500, b"\0\xff\xd0\0\xff\xd1", restart=1),
        "jpeg-0x0.jpg": baseline(0, 0, b"\0"),
        "jpeg-height-later.jpg": baseline(64, 0, b"\0" * 64)[:-2] + segment(0xDC, b"\xff\xdc") + EOI,
        "png-60000x60000.png": png(60000, 60000, data=zlib.compress(b"\0" * 100)),
        "png-13000x13000-cut.png": png(13000, 13000, data=zlib.compress(b"\0" * 100)),
        "png-4294967295.png": png(0xFFFFFFFF, 0xFFFFFFFF, data=b"x"),
        "webp-16384x16384.webp": riff((b"VP8L", vp8l(16384, 16384))),
        "webp-canvas.webp": riff((b"VP8X", b"\x10\0\0\0" + b"\xff" * 6), (b"VP8L", vp8l(16, 16))),
        "bmp-32767x32767-rle.bmp": bmp(32767, 32767, 8, 1),
        "bmp-13000x13000-rle.bmp": bmp(13000, 13000, 8, 1),
        "bmp-minimum.bmp": bmp(1, -(1 << 31)),
        "bmp-64-bits.bmp": bmp(2, 2, 64),
        "tiff-65535x65535.tiff": tiff(picture(65535, 65535)),
        "tiff-13000x13000-cut.tiff": tiff(picture(13000, 13000)),
        "ppm-13000x13000-cut.ppm": b"P6 13000 13000 255\n" + b"\0" * 100,
        "ppm-huge-number.ppm": b"P6 99999999999999999999 1 255\n" + b"\0" * 100,
        # Endless work.
        "jpeg-scans-13000x13000.jpg": lambda: progressive(13000, 13000, 800),
        "jpeg-scans-2000x2000.jpg": lambda: progressive(2000, 2000, 880),
        "jpeg-scans-64x64.jpg": lambda: progressive(64, 64, 880),
        "png-16-bit-13000x13000.png": lambda: png(13000, 13000, 16, 6),
        "png-13000x13000.png": lambda: png(13000, 13000, 8, 2),
        "png-interlaced-8000x8000.png": lambda: png(8000, 8000, 16, 6, interlace=1),
        "png-1-bit-13000x13000.png": lambda: png(13000, 13000, 1, 0),
        "png-text-bomb.png": lambda: png(4, 4, before=chunk(b"zTXt", b"k\0\0" + zeros_deflated(512 * MIB))),
        "png-many-texts.png": lambda: png(64, 48, 8, 0, before=texts(990)),
        "png-profile-bomb.png": lambda: png(4, 4, before=chunk(b"iCCP", b"k\0\0" + zeros_deflated(512 * MIB))),
        "png-100000-chunks.png": lambda: png(4, 4, before=chunk(b"tEXt", b"k\0v") * 100_000),
        "tiff-directory-loop.tiff": tiff(picture(4, 4), next_directory=8),
        "tiff-65535-entries.tiff": tiff(picture(4, 4), entries=65535),
        "tiff-deflate-bomb.tiff": lambda: (
            lambda data: tiff(picture(13000, 13000, compression=8, bytes_=len(data)), data))(zeros_deflated(13000 * 13000)),
        "pgm-comment.pgm": b"P5\n#" + b"c" * MIB + b"\n4 4 255\n" + b"\0" * 16,
        # Nonsensical headers.
        "jpeg-no-tables.jpg": SOI + frame(0xC0, 8, 8) + scan(0, 63, 0, 0, b"\0") + EOI,
        "jpeg-zero-components.jpg": SOI + frame(0xC0, 8, 8, 0) + scan(0, 63, 0, 0, b"\0") + EOI,
        "jpeg-255-components.jpg": SOI + frame(0xC0, 8, 8, 85) + scan(0, 63, 0, 0, b"\0") + EOI,
        "jpeg-two-frames.jpg": small[:-2] + frame(0xC0, 800, 800) + scan(0, 63, 0, 0, b"\0") + EOI,
        "jpeg-arithmetic.jpg": small.replace(b"\xff\xc0", b"\xff\xc9"),
        "jpeg-lossless.jpg": small.replace(b"\xff\xc0", b"\xff\xc3"),
        "jpeg-12-bit.jpg": small.replace(b"\xff\xc0\0\x0b\x08", b"\xff\xc1\0\x0b\x0c"),
        "jpeg-exif-loop.jpg": SOI + segment(0xE1, b"Exif\0\0II*\0" + struct.pack("<IH", 8, 65535)) + small[2:],
        "jpeg-fill-bytes.jpg": SOI + b"\xff" * MIB + small[2:],
        "jpeg-markers-in-scan.jpg": baseline(64, 64, b"\xff\xd0" * 1000, restart=1),
        "jpeg-text-behind.jpg": small + b"<script>" * 1000,
        "png-no-header.png": b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT", b"x") + chunk(b"IEND"),
        "png-length.png": png_header(4, 4) + b"\xff\xff\xff\xffIDAT" + b"\0" * 64,
        "png-palette-without.png": png(4, 4, 8, 3),
        "png-depth-3.png": png(4, 4, 3, 0),
        "png-colour-7.png": png(4, 4, 8, 7),
        "webp-animated.webp": riff((b"VP8X", b"\x02\0\0\0" + b"\1\0\0" * 2), (b"ANIM", b"\0" * 6)),
        "webp-riff-size.webp": b"RIFF\xff\xff\xff\xffWEBPVP8L" + b"\0" * 40,
        "bmp-0-bits.bmp": bmp(4, 4, 0),
        "bmp-offset.bmp": bmp(2, 2, offset=0xFFFFFFF0),
        "bmp-header-size.bmp": bmp(2, 2, header=0xFFFFFFFF),
        "tiff-directory-far.tiff": b"II*\0\xf0\xff\xff\xff",
        "tiff-strips.tiff": tiff(picture(4, 4, strips=0x7FFFFFFF)),
        "tiff-float.tiff": tiff(picture(4, 4, 32, extra=[(339, 3, 1, 3)])),
        "tiff-300-samples.tiff": tiff(picture(4, 4, samples=300)),
        "tiff-big.tiff": b"II+\0\x08\0\0\0" + struct.pack("<Q", 16) + b"\0" * 64,
        "pnm-maximum-0.pgm": b"P5 4 4 0\n" + b"\0" * 16,
        "pnm-maximum-65536.pgm": b"P5 4 4 65536\n" + b"\0" * 32,
        "pnm-plain.pgm": b"P2 4 4 255\n" + b"0 " * 16,
        "pam.pam": b"P7\nWIDTH 4\nHEIGHT 4\nDEPTH 3\nMAXVAL 255\nENDHDR\n" + b"\0" * 48,
        # Unsupported kinds.
        "gif.gif": b"GIF89a\xff\xff\xff\xff\xf7\0\0" + b"\0" * 800,
        "avif.avif": b"\0\0\0\x20ftypavif" + b"\0" * 100,
        "heic.heic": b"\0\0\0\x18ftypheic" + b"\0" * 100,
        "jxl.jxl": b"\0\0\0\x0cJXL \r\n\x87\n" + b"\0" * 100,
        "svg.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
        # Names that lie.
        "a-tar.jpg": b"a.jpg".ljust(257, b"\0") + b"ustar" + b"\0" * 762,
        "only-magic.jpg": SOI,
        "empty.png": b"",
    }
    return made


def entries():
    def writer(content):
        return lambda path: path.write_bytes(content() if callable(content) else content)

    return [Hostile(name, "image", writer(content)) for name, content in files().items()]
