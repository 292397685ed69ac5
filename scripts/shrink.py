"""`shrink.py TO FROM...` writes smaller copies of pictures: 900 pixels wide, with a palette of 64 colors."""

import sys
from pathlib import Path

from PIL import Image

WIDTH = 900


def main(target: str, *sources: str) -> None:
    for source in map(Path, sources):
        picture = Image.open(source).convert("RGB")
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        small = picture.resize(size, Image.Resampling.LANCZOS).quantize(64, dither=Image.Dither.NONE)
        small.save(Path(target) / source.name, optimize=True)


main(*sys.argv[1:])
