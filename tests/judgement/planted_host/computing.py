# SPDX-License-Identifier: Apache-2.0
"""Host causes that compute: tokenizer, NumPy, image decoding, tables, metrics, logging, checkpoints."""

from cause import Cause
from planted.source import block


def python_tokenizer(rng):
    split = rng.choice((
        """
        pieces, word = [], ""
        for letter in text:  #@hot
            if letter.isalnum():
                word += letter.lower()
            else:
                if word:
                    pieces.append(vocabulary.get(word, len(word)))
                word = ""
        """, """
        pieces, position = [], 0
        while position < len(text):  #@hot
            for length in range(9, 0, -1):
                if text[position:position + length] in vocabulary or length == 1:
                    pieces.append(vocabulary.get(text[position:position + length], 0))
                    position += length
                    break
        """))
    return Cause(
        kinds=("host", "input"), data=True, work=3000,
        functions=f"""
def <fn>(text, vocabulary):
{block(split, 1)}
    counts = np.bincount(np.array(pieces or [0]) % {rng.choice((17, 31, 63))}, minlength=1)
    return np.float32(counts[0] * 1e-6)
""",
        setup="""
        letters = random.Random(3)
        <v_words> = ["".join(letters.choices("etaoinshrdlu", k=letters.randint(2, 9))) for _ in range(500)]
        <v_vocabulary> = {word: number for number, word in enumerate(<v_words>)}
        <v_texts> = [" ".join(letters.choices(<v_words>, k=<WORK>)) for _ in range(4)]
        """,
        call="extra = np.full(WIDTH, <entry>(<v_texts>[step % 4], <v_vocabulary>), np.float32)")


def numpy_preprocessing(rng):
    body = rng.choice((
        """
        centred = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-6)
        ordered = np.sort(centred, axis=1)
        clipped = np.clip(ordered, -3.0, 3.0)
        return clipped.mean(axis=0)[:<C_OUT>]
        """, """
        spectrum = np.fft.rfft(values, axis=1)
        power = np.log1p(np.abs(spectrum) ** 2)
        power -= power.min()
        return power.mean(axis=0)[:<C_OUT>]
        """, """
        shifted = np.roll(values, 3, axis=1) * 0.5 + values[:, ::-1] * 0.5
        noisy = shifted + np.random.default_rng(len(values)).normal(0.0, 0.1, values.shape)
        ranks = noisy.argsort(axis=1)
        return np.cos(ranks).mean(axis=0)[:<C_OUT>]
        """))
    return Cause(
        kinds=("host", "input"), data=True, work=1000,
        functions=f"""
<C_OUT> = 8


def <fn>(values):
{block(body, 1)}
""",
        setup="""
        <v_raw> = np.random.default_rng(5).normal(size=(4, <WORK>, 64)).astype(np.float32)
        """,
        call="""
        extra = np.zeros(WIDTH, np.float32)
        extra[:8] = <entry>(<v_raw>[step % 4]) * 1e-3
        """)


def image_decode(rng):
    """PNG images without Pillow: zlib, then the filter of each row is undone."""
    return Cause(
        kinds=("host", "input"), data=True, work=4, imports="import zlib",
        functions="""
def <fn>(data, height, width):
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, width + 1)
    pixels = np.zeros((height, width), np.uint8)
    above = np.zeros(width, np.uint8)
    for row in range(height):  #@hot
        kind, line = raw[row, 0], raw[row, 1:]
        if kind == 2:
            above = line + above
        elif kind == 1:
            above = np.cumsum(line, dtype=np.uint8)
        else:
            above = line
        pixels[row] = above
    return pixels


def <fn_write>(seed, height, width):
    image = np.random.default_rng(seed).integers(0, 40, (height, width)).cumsum(axis=0).astype(np.uint8)
    raw = np.zeros((height, width + 1), np.uint8)
    raw[0, 1:], raw[1:, 0], raw[1:, 1:] = image[0], 2, image[1:] - image[:-1]
    return zlib.compress(raw.tobytes(), 6)
""",
        setup=f"""
        <v_shape> = ({rng.randint(180, 300)}, {rng.randint(200, 400)})
        <v_images> = [<fn_write>(seed, *<v_shape>) for seed in range(6)]
        """,
        call="""
        for index in range(<WORK>):
            extra = np.full(WIDTH, <entry>(<v_images>[(step + index) % 6], *<v_shape>).mean() * 1e-6, np.float32)
        """)


def pillow_decode(rng):
    kind = rng.choice(("PNG", "JPEG"))
    return Cause(
        kinds=("host", "input"), data=True, work=4, needs="PIL", imports="import io\nfrom PIL import Image",
        functions="""
def <fn>(data):
    image = Image.open(io.BytesIO(data))  #@hot
    return np.asarray(image.convert("RGB").resize((64, 64)), np.float32)  #@hot
""",
        setup=f"""
        <v_images> = []
        for seed in range(6):
            buffer = io.BytesIO()
            values = np.random.default_rng(seed).integers(0, 255, (60, 80, 3)).astype(np.uint8)
            values = values.repeat({rng.randint(4, 7)}, axis=0).repeat({rng.randint(4, 7)}, axis=1)
            Image.fromarray(values).save(buffer, "{kind}")
            <v_images>.append(buffer.getvalue())
        """,
        call="""
        for index in range(<WORK>):
            extra = np.full(WIDTH, <entry>(<v_images>[(step + index) % 6]).mean() * 1e-6, np.float32)
        """)


def groupby(rng):
    body = rng.choice((
        """
        groups = {}
        for row in rows:  #@hot
            groups.setdefault(row["key"], []).append(row["value"])
        means = {key: sum(values) / len(values) for key, values in groups.items()}
        return np.float32(max(means.values()) * 1e-6)
        """, """
        ordered = sorted(rows, key=lambda row: row["key"])
        best = 0.0
        for key, members in itertools.groupby(ordered, key=lambda row: row["key"]):  #@hot
            values = [row["value"] for row in members]
            best = max(best, sum(values) / len(values))
        return np.float32(best * 1e-6)
        """))
    return Cause(
        kinds=("host", "input"), data=True, work=20000, imports="import itertools",
        functions=f"""
def <fn>(rows):
{block(body, 1)}
""",
        setup=f"""
        draw = random.Random(8)
        <v_rows> = [{{"key": draw.randint(0, {rng.randint(30, 300)}), "value": draw.random()}} for _ in range(<WORK>)]
        """,
        call="extra = np.full(WIDTH, <entry>(<v_rows>), np.float32)")


def pandas_groupby(rng):
    return Cause(
        kinds=("host", "input"), data=True, work=20000, needs="pandas", imports="import pandas as pd",
        functions=f"""
def <fn>(frame):
    summary = frame.groupby("key").agg({{"value": ["mean", "std"], "weight": "{rng.choice(('median', 'max'))}"}})  #@hot
    return np.float32(summary.to_numpy()[0, 0] * 1e-6)
""",
        setup=f"""
        draw = np.random.default_rng(8)
        <v_frame> = pd.DataFrame({{"key": draw.integers(0, {rng.randint(300, 3000)}, <WORK>).astype(str),
                                 "value": draw.random(<WORK>), "weight": draw.random(<WORK>)}})
        """,
        call="extra = np.full(WIDTH, <entry>(<v_frame>), np.float32)")


def host_metrics(rng):
    body = rng.choice((
        """
        scores = np.asarray(losses)
        labels = scores > np.median(scores)
        areas = []
        for draw in range(<WORK>):  #@hot
            chosen = np.random.default_rng(draw).integers(0, len(scores), len(scores))
            order = np.argsort(scores[chosen])
            areas.append(np.trapezoid(np.cumsum(labels[chosen][order]), dx=1.0))
        return float(np.mean(areas))
        """, """
        scores = np.asarray(losses)
        labels = scores > scores.mean()
        best = 0.0
        for threshold in np.linspace(scores.min(), scores.max(), <WORK>):  #@hot
            hits = int(np.sum((scores > threshold) & labels))
            wrong = int(np.sum((scores > threshold) & ~labels))
            missed = int(np.sum((scores <= threshold) & labels))
            best = max(best, 2 * hits / (2 * hits + wrong + missed + 1))
        return best
        """))
    return Cause(kinds=("host",), before=False, work=300, functions=f"""
def <fn>(losses):
{block(body, 1)}
""", call="<v_rate> += <entry>(losses) * 1e-9")


def logging_each_step(rng):
    body = rng.choice((
        """
        for name, weights in enumerate(params):
            values = np.asarray(weights).ravel()[:<WORK>]
            logger.info("step %d weights %d: %s", step, name, np.array2string(values, threshold=10**9))  #@hot
        """, """
        for number in range(<WORK>):
            logger.info("step %d row %d of %s: value %.6f", step, number, [w.shape for w in params], number / 7.0)  #@hot
        """))
    return Cause(
        kinds=("host", "io"), before=False, work=400, imports="import logging",
        functions=f"""
def <fn>(logger, params, step):
{block(body, 1)}
""",
        setup="""
        <v_logger> = logging.getLogger("training")
        <v_logger>.setLevel(logging.INFO)
        <v_logger>.propagate = False
        handler = logging.FileHandler("training.log", mode="w")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        <v_logger>.addHandler(handler)
        """,
        call="<entry>(<v_logger>, params, step)")


def checkpoint(rng):
    body = rng.choice((
        """
        arrays = {f"weights_{number}": np.asarray(value) for number, value in enumerate(params)}
        np.savez_compressed("state.npz", history=history, **arrays)  #@hot
        """, """
        data = pickle.dumps([np.asarray(value) for value in params] + [history])
        with gzip.open("state.gz", "wb", compresslevel=2) as file:
            file.write(data)  #@hot
        """))
    return Cause(
        kinds=("checkpoint", "host", "io", "between_steps", "pause"), before=False, work=4, every=10,
        imports="import gzip\nimport pickle",
        functions=f"""
def <fn>(params, history):
{block(body, 1)}
""",
        setup="""
        <v_history> = np.random.default_rng(2).normal(size=<WORK> * 25_000).astype(np.float32)
        """,
        call="""
        if step % 10 == 9:
            <entry>(params, <v_history>)
        """)
