"""File formats: where arrays lie in files, and how such files are written."""

from ann_bench.datasets.formats.knn import locate_truth, read_truth, write_truth
from ann_bench.datasets.formats.locate import Reading, locate
from ann_bench.datasets.formats.names import FORMATS, RANGES, VECTOR_TYPES, XBIN, Format, format_of
from ann_bench.datasets.formats.ranges import Ranges, locate_ranges, write_ranges
from ann_bench.datasets.formats.spmat import spmat_writer, write_canonical, write_spmat
from ann_bench.datasets.formats.xbin import write_xbin, xbin_writer

__all__ = [
    "FORMATS",
    "RANGES",
    "VECTOR_TYPES",
    "XBIN",
    "Format",
    "Ranges",
    "Reading",
    "format_of",
    "locate",
    "locate_ranges",
    "locate_truth",
    "read_truth",
    "spmat_writer",
    "write_canonical",
    "write_ranges",
    "write_spmat",
    "write_truth",
    "write_xbin",
    "xbin_writer",
]
