from ..arrays import Float32, Int32, Int64, UInt8

def parse_rows(
    text: UInt8, labelled: bool, comments: bool, n_labels: int, n_features: int, base: int,
) -> tuple[Int64, Int32, Int64, Int32, Float32, int, int, int, int, int]: ...
def format_rows(
    label_offsets: Int64, labels: Int32, label_values: Float32, offsets: Int64, features: Int32, values: Float32,
    labelled: bool, base: int, begin: int, end: int,
) -> bytes: ...
def format_answers(
    shape: int, labels: Int32, scores: Float32, chances: Float32, names: UInt8, name_offsets: Int64, before: UInt8,
    before_offsets: Int64, after: UInt8, after_offsets: Int64,
) -> bytes: ...
