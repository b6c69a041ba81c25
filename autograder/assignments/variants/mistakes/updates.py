"""Known mistakes of stage 7: clipping, the step and the groups of parameters."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
FOUND = "gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]"
NORM = "norm = math.sqrt(sum(gradient.pow(2).sum().item() for gradient in gradients))"
LIMIT = "if norm > max_norm:"
SHORTEN = "gradient.mul_(max_norm / norm)"
NORM_RETURNED = "return norm\n"
CLIPPED = f"{LIMIT}\n        for gradient in gradients:\n            {SHORTEN}"
TRAIN = "model.train()"
SET_RATE = 'for group in optimizer.param_groups:\n        group["lr"] = rate'
FORGET = "optimizer.zero_grad()"
LOSS = "loss = model.loss(*batch)"
BACKWARD = "loss.backward()"
CLIP = "clip_gradients(model.parameters(), max_norm)"
STEP = "optimizer.step()"
DECAYS = "decays = parameter.dim() == 2 and id(parameter) not in spared"
SORTED = "for parameter in model.parameters():  # one that is shared comes once"
GROUPS = 'return [{"params": decaying, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]'

WHOLE = "All gradients together are one long vector, and it is this vector that is shortened."
STEPS = "The docstring numbers what happens in a step."
WHICH = "The docstring says which parameters decay: those with exactly two axes, but for embeddings."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "training.clip-each-gradient",
        "training",
        CLIPPED,
        "for gradient in gradients:\n        gradient.mul_(min(1.0, max_norm / gradient.norm().item()))",
        "You clip every gradient by its own norm.",
        "That changes the direction of the step. " + WHOLE,
    ),
    Mistake(
        "training.clip-always",
        "training",
        LIMIT,
        "if True:",
        "You lengthen gradients that are shorter than the limit.",
        "Only what is too long is changed.",
    ),
    Mistake(
        "training.clip-by-square",
        "training",
        LIMIT,
        "if norm**2 > max_norm:",
        "You lengthen gradients that are shorter than the limit, but whose square is not.",
        "The norm is compared with the limit, not its square. Only what is too long is changed.",
        same_as=("training.clip-always",),
    ),
    Mistake(
        "training.clip-never",
        "training",
        LIMIT,
        "if False:",
        "Your gradients are as long as before.",
        "It is the gradients of the parameters that shall change, in place. A loop over an iterator that has been gone "
        "through before does nothing.",
    ),
    Mistake(
        "training.clip-elements",
        "training",
        SHORTEN,
        "gradient.clamp_(-max_norm, max_norm)",
        "You cut off the elements of the gradients.",
        "That changes the direction of the step. " + WHOLE,
    ),
    Mistake(
        "training.clip-to-one",
        "training",
        SHORTEN,
        "gradient.div_(norm)",
        "You shorten the gradients to the length 1 instead of the limit.",
        "After clipping the norm of all gradients together is max_norm.",
    ),
    Mistake(
        "training.clip-sum-of-norms",
        "training",
        NORM,
        "norm = sum(gradient.norm().item() for gradient in gradients)",
        "You add up the norms of the gradients.",
        "The length of a long vector is the root of the sum of all squares, not the sum of the lengths of its pieces.",
    ),
    Mistake(
        "training.clip-without-root",
        "training",
        NORM,
        "norm = sum(gradient.pow(2).sum().item() for gradient in gradients)",
        "Your norm is the sum of the squares, without the root.",
        WHOLE,
    ),
    Mistake(
        "training.clip-largest-norm",
        "training",
        NORM,
        "norm = max(gradient.norm().item() for gradient in gradients)",
        "Your norm is that of the longest gradient.",
        WHOLE,
    ),
    Mistake(
        "training.clip-norm-after",
        "training",
        NORM_RETURNED,
        "return min(norm, max_norm)\n",
        "You return the norm after clipping.",
        "The curve of a run shows how long the gradients were, so that one sees when they explode. See under Returns.",
    ),
    Mistake(
        "training.clip-without-gradient",
        "training",
        FOUND,
        "gradients = [parameter.grad for parameter in parameters]",
        "You do not leave out parameters without a gradient.",
        "What a loss does not depend on gets no gradient: there is None instead of a tensor.",
    ),
    Mistake(
        "training.clip-not-in-place",
        "training",
        SHORTEN,
        "gradient = gradient * (max_norm / norm)",
        "You make shorter gradients, but the parameters keep the long ones.",
        "A new tensor is not the one that the parameter holds. The docstring says where the change takes place.",
        same_as=("training.clip-never",),
    ),
    Mistake(
        "training.clip-iterator-used-up",
        "training",
        f"{FOUND}\n    {NORM}\n    {CLIPPED}",
        "norm = math.sqrt(sum(p.grad.pow(2).sum().item() for p in parameters if p.grad is not None))\n"
        "    if norm > max_norm:\n        for p in parameters:\n            if p.grad is not None:\n"
        "                p.grad.mul_(max_norm / norm)",
        "You go through the parameters twice, and the second time there is nothing left.",
        "An iterator can be gone through only once. See under Args in the docstring.",
        same_as=("training.clip-never", "training.clip-not-in-place"),
    ),
    Mistake(
        "training.clip-weights",
        "training",
        f"{FOUND}\n    {NORM}\n    {CLIPPED}",
        "parameters = [p for p in parameters if p.grad is not None]\n"
        "    norm = math.sqrt(sum(p.detach().pow(2).sum().item() for p in parameters))\n"
        "    if norm > max_norm:\n        for p in parameters:\n            p.data.mul_(max_norm / norm)",
        "Your norm does not come from the gradients, as if it were that of the weights, or of nothing at all.",
        WHOLE,
    ),
    Mistake(
        "training.step-forgets-nothing",
        "training",
        f"{FORGET}\n    ",
        "",
        "Your step adds its gradients to those of the steps before.",
        "Gradients add up until they are told to go. " + STEPS,
    ),
    Mistake(
        "training.step-forgets-too-late",
        "training",
        f"{FORGET}\n    {LOSS}\n    {BACKWARD}",
        f"{LOSS}\n    {BACKWARD}\n    {FORGET}",
        "Your step leaves all weights as they were, as with the gradients forgotten too late, or without an update.",
        STEPS,
    ),
    Mistake(
        "training.step-rate-ignored",
        "training",
        SET_RATE,
        "pass",
        "Your first step uses the learning rate that the optimizer was made with, not the one that it is given.",
        STEPS,
    ),
    Mistake(
        "training.step-rate-of-first-group",
        "training",
        SET_RATE,
        'optimizer.param_groups[0]["lr"] = rate',
        "Your step sets the learning rate of the first group of parameters only.",
        "An optimizer may have several groups, for instance one with weight decay and one without.",
    ),
    Mistake(
        "training.step-not-clipped",
        "training",
        f"{CLIP}\n    ",
        "",
        "Your step is made with gradients that are not clipped, or not yet.",
        STEPS,
    ),
    Mistake(
        "training.step-clipped-after",
        "training",
        f"{CLIP}\n    {STEP}",
        f"{STEP}\n    {CLIP}",
        "Your step clips the gradients when the weights are updated already.",
        STEPS,
        same_as=("training.step-not-clipped",),
    ),
    Mistake(
        "training.step-clipped-before",
        "training",
        f"{BACKWARD}\n    {CLIP}",
        f"{CLIP}\n    {BACKWARD}",
        "Your step clips before there are gradients.",
        STEPS,
        same_as=("training.step-not-clipped", "training.step-clipped-after"),
    ),
    Mistake(
        "training.step-updates-nothing",
        "training",
        f"{STEP}\n    ",
        "",
        "Your step computes gradients and does not update the weights.",
        STEPS,
        same_as=("training.step-forgets-too-late",),
    ),
    Mistake(
        "training.step-loss-after",
        "training",
        "return loss.item()",
        "return model.loss(*batch).item()",
        "You return the loss after the update.",
        "See under Returns in the docstring.",
    ),
    Mistake(
        "training.step-in-evaluation-mode",
        "training",
        TRAIN,
        "model.eval()",
        "Your step trains in evaluation mode, without dropout.",
        STEPS,
        seen_by="hidden",
    ),
    Mistake(
        "training.step-mode-unchanged",
        "training",
        f"{TRAIN}\n    ",
        "",
        "Your step does not switch to training mode: after a validation, dropout stays off.",
        STEPS,
        seen_by="hidden",
    ),
    Mistake(
        "training.everything-decays",
        "training",
        DECAYS,
        "decays = True",
        "All of your parameters decay.",
        WHICH,
    ),
    Mistake(
        "training.embeddings-decay",
        "training",
        DECAYS,
        "decays = parameter.dim() == 2",
        "Your embeddings decay.",
        "The embedding of a rare token would shrink in every step in which the token does not come. " + WHICH,
    ),
    Mistake(
        "training.norms-decay",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = not name.endswith("bias") and id(parameter) not in spared',
        "The weights of your norms decay.",
        "A norm does not get better by weights near 0. " + WHICH,
    ),
    Mistake(
        "training.biases-decay",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = "norm" not in name and id(parameter) not in spared',
        "Your biases decay.",
        WHICH,
    ),
    Mistake(
        "training.groups-exchanged",
        "training",
        GROUPS,
        'return [{"params": others, "weight_decay": 0.0}, {"params": decaying, "weight_decay": weight_decay}]',
        "Your first group has a weight decay of 0, as if the two stood in the other order.",
        "The docstring says which of the two comes first.",
    ),
    Mistake(
        "training.both-groups-decay",
        "training",
        GROUPS,
        GROUPS.replace("0.0", "weight_decay"),
        "Both of your groups decay.",
        "An optimizer gives a group that says nothing its own weight decay, so the second group has to say 0.",
    ),
    # The models of the visible tests have neither.
    Mistake(
        "training.three-axes-decay",
        "training",
        DECAYS,
        DECAYS.replace("== 2", ">= 2"),
        "Parameters with three axes decay: <cls> and the positions of a Vision Transformer.",
        WHICH,
        seen_by="hidden",
    ),
    Mistake(
        "training.embeddings-of-the-outside-only",
        "training",
        "for module in model.modules()",
        "for module in model.children()",
        "Embeddings that are part of another module decay.",
        "A model is a tree of modules, and an embedding may stand anywhere in it. " + WHICH,
        seen_by="hidden",
    ),
    Mistake(
        "training.embeddings-by-name",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = parameter.dim() == 2 and "embedding" not in name',
        "You tell embeddings by their names.",
        "A module may be called anything. What it is, its class says.",
        seen_by="hidden",
    ),
)
