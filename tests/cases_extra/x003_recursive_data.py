# silent, and quick: a function that walks nested data through an attribute, a list and a dict
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from tree import root


def plain(node):
    match node.kind:
        case "one":
            return {"value": plain(node.value)}
        case "many":
            return [plain(item) for item in node]
        case "named":
            return {key: plain(item) for key, item in node.items()}
    return node


@durable_execution
def handler(event: dict, context: DurableContext) -> dict:
    try:
        context.step(lambda _: plain(root), name="plain")
        return plain(plain({"root": root, "context": context}))
    finally:
        print("done")
