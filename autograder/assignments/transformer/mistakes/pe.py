"""Known mistakes in stage 2: positional encoding."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
POSITION = "torch.arange(max_seq_length).unsqueeze(1)"
FREQUENCY = "torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))"
ANGLE = "angle = position * frequency"
SINES = "pe[:, 0::2] = torch.sin(angle)"
COSINES = "pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])"
OUTPUT = "return x + self.pe[:, :T]"

FORMULA = "Put small numbers into the formula in the docstring, for example d_model = 4, and compare with your values."
SLICING = "The table has shape (1, max_seq_length, d_model), and the embeddings have shape (B, T, d_model)."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="pe.sine-cosine-exchanged",
        module="pe",
        old=f"{SINES}\n        {COSINES}",
        new="pe[:, 0::2] = torch.cos(angle)\n        pe[:, 1::2] = torch.sin(angle[:, : d_model // 2])",
        looks_like="Your table has the cosines in the even columns and the sines in the odd ones.",
        read_again="Columns are counted from 0, so the first column is even. See the two formulas in the docstring.",
    ),
    Mistake(
        id="pe.exponent-i",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("torch.arange(0, d_model, 2)", "torch.arange((d_model + 1) // 2)"),
        looks_like="Your table uses the exponent i / d_model instead of 2i / d_model.",
        read_again="In the formula, i counts pairs of columns, and the exponent contains 2i. " + FORMULA,
    ),
    Mistake(
        id="pe.exponents-up-to-1",
        module="pe",
        old=FREQUENCY,
        new="torch.exp(torch.linspace(0, 1, (d_model + 1) // 2) * -math.log(10000.0))",
        looks_like="Your exponents run from 0 to 1, including 1, so the frequencies fall too fast.",
        read_again="The largest exponent in the formula is a little below 1. PyTorch functions that divide a range "
        "into equal parts include its end. " + FORMULA,
    ),
    Mistake(
        id="pe.exponent-doubled",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("torch.arange(0, d_model, 2)", "2 * torch.arange(0, d_model, 2)"),
        looks_like="Your table uses the exponent 4i / d_model instead of 2i / d_model.",
        read_again="The even column numbers 0, 2, 4, ... are already the 2i of the formula, and the denominator is "
        "the whole d_model. " + FORMULA,
    ),
    Mistake(
        id="pe.not-added",
        module="pe",
        old=OUTPUT,
        new="return x",
        looks_like="Your output is just the embeddings, without the positional encodings.",
        read_again="The table alone has no effect. Section 3.5 of the paper says what happens to the embeddings.",
    ),
    Mistake(
        id="pe.not-sliced",
        module="pe",
        old=OUTPUT,
        new="return x + self.pe",
        looks_like="The encodings that you add do not have the same length as the input.",
        read_again="Most sentences are shorter than the table and need only its first T positions. Which axis of the "
        "table is the position axis? " + SLICING,
    ),
    Mistake(
        id="pe.batch-axis-sliced",
        module="pe",
        old=OUTPUT,
        new="return x + self.pe[:T]",
        looks_like="You slice the table along its first axis, which is not the position axis.",
        read_again="In some code the positions come first; here the batch comes first. " + SLICING,
        same_as=("pe.not-sliced",),
    ),
    Mistake(
        id="pe.only-encoding",
        module="pe",
        old=OUTPUT,
        new="return self.pe[:, :T]",
        looks_like="Your output is only the table, without the embeddings.",
        read_again="The docstring says that the encodings are added to x.",
    ),
    Mistake(
        id="pe.exponent-positive",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("-math.log", "math.log"),
        looks_like="Your table multiplies the positions by the power of 10000 instead of dividing by it.",
        read_again="Wavelengths grow from left to right, so the later columns must change slowly. " + FORMULA,
    ),
    Mistake(
        id="pe.halves",
        module="pe",
        old=f"{SINES}\n        {COSINES}",
        new="pe[:, : (d_model + 1) // 2] = torch.sin(angle)\n"
        "        pe[:, (d_model + 1) // 2 :] = torch.cos(angle[:, : d_model // 2])",
        looks_like="Your table has all sines in the left half and all cosines in the right half.",
        read_again="Many programs do that, but here sines and cosines alternate. See the column numbers in the "
        "docstring's formulas.",
    ),
    Mistake(
        id="pe.table-empty",
        module="pe",
        old=f"{SINES}\n        {COSINES}",
        new="encoding = torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)",
        looks_like="Your table is still full of zeros.",
        read_again="Store your result in the columns of the tensor that is registered after your code.",
    ),
    Mistake(
        id="pe.sines-only",
        module="pe",
        old=COSINES,
        new=COSINES.replace("cos", "sin"),
        looks_like="Your table has sines in all columns.",
        read_again="The two columns of a pair have the same angle but different functions. See the second formula in "
        "the docstring.",
    ),
    Mistake(
        id="pe.cosine-exponent-shifted",
        module="pe",
        old=COSINES,
        new="pe[:, 1::2] = torch.cos(position * torch.exp(torch.arange(1, d_model, 2) * "
        "(-math.log(10000.0) / d_model)))",
        looks_like="Your cosines use their own column number 2i + 1 in the exponent.",
        read_again="Both columns of a pair have the same wavelength. Compare the exponents of the two formulas in the "
        "docstring.",
    ),
    Mistake(
        id="pe.position-from-one",
        module="pe",
        old=POSITION,
        new="torch.arange(1, max_seq_length + 1).unsqueeze(1)",
        looks_like="Your table is the correct table shifted by one row: its first row is for position 1.",
        read_again="The docstring says which number the first position has.",
    ),
    Mistake(
        id="pe.last-positions",
        module="pe",
        old=OUTPUT,
        new="return x + self.pe[:, -T:]",
        looks_like="Your output uses the encodings from the last T rows of the table.",
        read_again="A sentence starts at position 0, however long it is. " + SLICING,
    ),
    Mistake(
        id="pe.base-1000",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("10000.0", "1000.0"),
        looks_like="Your table uses the base 1000 instead of 10000.",
        read_again="Section 3.5 of the paper gives this number: count its zeros.",
    ),
    Mistake(
        id="pe.base-100000",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("10000.0", "100000.0"),
        looks_like="Your table uses the base 100000 instead of 10000.",
        read_again="Section 3.5 of the paper gives this number: count its zeros.",
    ),
    Mistake(
        id="pe.exponent-missing",
        module="pe",
        old=FREQUENCY,
        new="torch.full(((d_model + 1) // 2,), 1 / 10000.0)",
        looks_like="Your table has the same wavelength in all columns.",
        read_again="The exponent of 10000 depends on the column. " + FORMULA,
    ),
    Mistake(
        id="pe.logarithm-base-10",
        module="pe",
        old=FREQUENCY,
        new=FREQUENCY.replace("math.log(", "math.log10("),
        looks_like="Your table combines the base-10 logarithm with the base-e exponential function.",
        read_again="An exponential function and a logarithm cancel out only if they have the same base.",
    ),
    Mistake(
        id="pe.multiplied",
        module="pe",
        old=OUTPUT,
        new="return x * self.pe[:, :T]",
        looks_like="You multiply the embeddings by the encodings.",
        read_again="Section 3.5 of the paper says how encodings and embeddings are combined.",
    ),
    Mistake(
        id="pe.embeddings-scaled",
        module="pe",
        old=OUTPUT,
        new="return x * math.sqrt(self.d_model) + self.pe[:, :T]",
        looks_like="You multiply the embeddings by sqrt(d_model) before you add the encodings.",
        read_again="The paper does so (section 3.4), but this course does not: the docstring of the class "
        "Transformer says how the checkpoint was trained.",
    ),
    Mistake(
        id="pe.encoding-scaled",
        module="pe",
        old=OUTPUT,
        new="return x + self.pe[:, :T] / math.sqrt(self.d_model)",
        looks_like="You divide the encodings by sqrt(d_model).",
        read_again="The square root belongs to attention. Section 3.5 of the paper adds the encodings unchanged.",
    ),
    Mistake(
        id="pe.two-pi",
        module="pe",
        old=ANGLE,
        new=ANGLE + " * 2 * math.pi",
        looks_like="The angles in your table are multiplied by 2 pi.",
        read_again="The wavelengths contain 2 pi because sine and cosine have this period. The formula itself has no "
        "such factor.",
    ),
    Mistake(
        id="pe.degrees",
        module="pe",
        old=ANGLE,
        new="angle = torch.deg2rad(position * frequency)",
        looks_like="Your table treats the angles as degrees.",
        read_again="The formula uses radians, like sine and cosine in every numerical library.",
    ),
    Mistake(
        id="pe.input-changed-in-place",
        module="pe",
        old=OUTPUT,
        new="x += self.pe[:, :T]\n        return x",
        looks_like="Your output is right, but the call changes the embeddings that were passed in.",
        read_again="Operators such as += change the caller's tensor.",
    ),
)
