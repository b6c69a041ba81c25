"""Known mistakes in stage 7: clipping, the step and the parameter groups."""

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
SORTED = "for parameter in model.parameters():  # a shared parameter comes up once"
GROUPS = 'return [{"params": decaying, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]'

WHOLE = "All gradients together form one long vector, and this vector is scaled down."
STEPS = "The docstring numbers the parts of a step."
WHICH = "The docstring says which parameters decay: those with exactly two axes, except embeddings."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "training.clip-each-gradient",
        "training",
        CLIPPED,
        "for gradient in gradients:\n        gradient.mul_(min(1.0, max_norm / gradient.norm().item()))",
        "You clip every gradient by its own norm.",
        "This changes the direction of the step. " + WHOLE,
    ),
    Mistake(
        "training.clip-always",
        "training",
        LIMIT,
        "if True:",
        "You scale up gradients whose norm is below the limit.",
        "Change gradients only if their norm is too large.",
    ),
    Mistake(
        "training.clip-by-square",
        "training",
        LIMIT,
        "if norm**2 > max_norm:",
        "You scale up gradients whose norm is below the limit if their squared norm is above it.",
        "Compare the norm with the limit, not its square. Change gradients only if their norm is too large.",
        same_as=("training.clip-always",),
    ),
    Mistake(
        "training.clip-never",
        "training",
        LIMIT,
        "if False:",
        "Your gradients are not clipped.",
        "The gradients of the parameters must be changed in place. A loop over an iterator that is already used up "
        "does nothing.",
    ),
    Mistake(
        "training.clip-elements",
        "training",
        SHORTEN,
        "gradient.clamp_(-max_norm, max_norm)",
        "You clip each element of the gradients separately.",
        "This changes the direction of the step. " + WHOLE,
    ),
    Mistake(
        "training.clip-to-one",
        "training",
        SHORTEN,
        "gradient.div_(norm)",
        "You scale the gradients down to a norm of 1 instead of the limit.",
        "After clipping, the norm of all gradients together is max_norm.",
    ),
    Mistake(
        "training.clip-sum-of-norms",
        "training",
        NORM,
        "norm = sum(gradient.norm().item() for gradient in gradients)",
        "You add up the norms of the gradients.",
        "The length of a long vector is the square root of the sum of all squares, not the sum of the lengths of its "
        "parts.",
    ),
    Mistake(
        "training.clip-without-root",
        "training",
        NORM,
        "norm = sum(gradient.pow(2).sum().item() for gradient in gradients)",
        "Your norm is the sum of the squares, without the square root.",
        WHOLE,
    ),
    Mistake(
        "training.clip-largest-norm",
        "training",
        NORM,
        "norm = max(gradient.norm().item() for gradient in gradients)",
        "Your norm is the largest of the norms of the individual gradients.",
        WHOLE,
    ),
    Mistake(
        "training.clip-norm-after",
        "training",
        NORM_RETURNED,
        "return min(norm, max_norm)\n",
        "You return the norm after clipping.",
        "The norm before clipping shows when gradients explode during training. See the Returns section.",
    ),
    Mistake(
        "training.clip-without-gradient",
        "training",
        FOUND,
        "gradients = [parameter.grad for parameter in parameters]",
        "You do not skip parameters that have no gradient.",
        "A parameter that the loss does not depend on has None instead of a gradient.",
    ),
    Mistake(
        "training.clip-not-in-place",
        "training",
        SHORTEN,
        "gradient = gradient * (max_norm / norm)",
        "You compute clipped gradients, but the parameters keep the unclipped ones.",
        "A new tensor does not replace the gradient stored in the parameter. The docstring says where to make the "
        "change.",
        same_as=("training.clip-never",),
    ),
    Mistake(
        "training.clip-iterator-used-up",
        "training",
        f"{FOUND}\n    {NORM}\n    {CLIPPED}",
        "norm = math.sqrt(sum(p.grad.pow(2).sum().item() for p in parameters if p.grad is not None))\n"
        "    if norm > max_norm:\n        for p in parameters:\n            if p.grad is not None:\n"
        "                p.grad.mul_(max_norm / norm)",
        "You loop over the parameters twice, but the second time there are none left.",
        "You can loop over an iterator only once. See the Args section of the docstring.",
        same_as=("training.clip-never", "training.clip-not-in-place"),
    ),
    Mistake(
        "training.clip-weights",
        "training",
        f"{FOUND}\n    {NORM}\n    {CLIPPED}",
        "parameters = [p for p in parameters if p.grad is not None]\n"
        "    norm = math.sqrt(sum(p.detach().pow(2).sum().item() for p in parameters))\n"
        "    if norm > max_norm:\n        for p in parameters:\n            p.data.mul_(max_norm / norm)",
        "Your norm does not depend on the gradients, as if it were the norm of the weights.",
        WHOLE,
    ),
    Mistake(
        "training.step-forgets-nothing",
        "training",
        f"{FORGET}\n    ",
        "",
        "Your step adds its gradients to those of the previous steps.",
        "Gradients accumulate until you reset them. " + STEPS,
    ),
    Mistake(
        "training.step-forgets-too-late",
        "training",
        f"{FORGET}\n    {LOSS}\n    {BACKWARD}",
        f"{LOSS}\n    {BACKWARD}\n    {FORGET}",
        "Your step changes no weights, as if you reset the gradients too late or made no update.",
        STEPS,
    ),
    Mistake(
        "training.step-rate-ignored",
        "training",
        SET_RATE,
        "pass",
        "Your first step uses the optimizer's initial learning rate, not the rate that was passed in.",
        STEPS,
    ),
    Mistake(
        "training.step-rate-of-first-group",
        "training",
        SET_RATE,
        'optimizer.param_groups[0]["lr"] = rate',
        "Your step sets the learning rate of only the first parameter group.",
        "An optimizer may have several groups, for example one with weight decay and one without.",
    ),
    Mistake(
        "training.step-not-clipped",
        "training",
        f"{CLIP}\n    ",
        "",
        "Your step uses gradients that are not clipped, or not clipped yet.",
        STEPS,
    ),
    Mistake(
        "training.step-clipped-after",
        "training",
        f"{CLIP}\n    {STEP}",
        f"{STEP}\n    {CLIP}",
        "Your step clips the gradients after the weights are updated.",
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
        "Your step computes gradients but does not update the weights.",
        STEPS,
        same_as=("training.step-forgets-too-late",),
    ),
    Mistake(
        "training.step-loss-after",
        "training",
        "return loss.item()",
        "return model.loss(*batch).item()",
        "You return the loss after the update.",
        "See the Returns section of the docstring.",
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
        "Your step does not switch to training mode: after validation, dropout stays off.",
        STEPS,
        seen_by="hidden",
    ),
    Mistake(
        "training.everything-decays",
        "training",
        DECAYS,
        "decays = True",
        "You apply weight decay to all parameters.",
        WHICH,
    ),
    Mistake(
        "training.embeddings-decay",
        "training",
        DECAYS,
        "decays = parameter.dim() == 2",
        "You apply weight decay to the embeddings.",
        "The embedding of a rare token would shrink in every step without that token. " + WHICH,
    ),
    Mistake(
        "training.norms-decay",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = not name.endswith("bias") and id(parameter) not in spared',
        "You apply weight decay to the weights of the layer norms.",
        "Pulling the weights of a norm layer towards 0 does not improve it. " + WHICH,
    ),
    Mistake(
        "training.biases-decay",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = "norm" not in name and id(parameter) not in spared',
        "You apply weight decay to the biases.",
        WHICH,
    ),
    Mistake(
        "training.groups-exchanged",
        "training",
        GROUPS,
        'return [{"params": others, "weight_decay": 0.0}, {"params": decaying, "weight_decay": weight_decay}]',
        "Your first group has a weight decay of 0, as if the two groups were swapped.",
        "The docstring says which of the two groups comes first.",
    ),
    Mistake(
        "training.both-groups-decay",
        "training",
        GROUPS,
        GROUPS.replace("0.0", "weight_decay"),
        "You apply weight decay to both groups.",
        "A group without its own weight decay gets the optimizer's, so the second group must set it to 0.",
    ),
    # The models of the visible tests have neither.
    Mistake(
        "training.three-axes-decay",
        "training",
        DECAYS,
        DECAYS.replace("== 2", ">= 2"),
        "You apply weight decay to parameters with three axes: <cls> and the position embeddings of a Vision "
        "Transformer.",
        WHICH,
        seen_by="hidden",
    ),
    Mistake(
        "training.embeddings-of-the-outside-only",
        "training",
        "for module in model.modules()",
        "for module in model.children()",
        "You apply weight decay to embeddings inside other modules.",
        "A model is a tree of modules, and an embedding may be anywhere in it. " + WHICH,
        seen_by="hidden",
    ),
    Mistake(
        "training.embeddings-by-name",
        "training",
        f"{SORTED}\n        {DECAYS}",
        "for name, parameter in model.named_parameters():\n"
        '        decays = parameter.dim() == 2 and "embedding" not in name',
        "You recognise embeddings by their names.",
        "A module may have any name. Its class says what it is.",
        seen_by="hidden",
    ),
)
