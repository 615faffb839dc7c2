"""The official clients against a server at argv[1]: one line for each answer."""

import json
import sys

import anthropic
import openai

base = sys.argv[1]
ask = [{"role": "user", "content": "one two three"}]
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
openai_tools = [{"type": "function", "function": {"name": "look_up", "parameters": schema}}]
anthropic_tools = [{"name": "look_up", "input_schema": schema}]


def openai_client():
    client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    chat = client.chat.completions.create(model="m", messages=ask, max_tokens=3)
    print("chat", repr(chat.choices[0].message.content), chat.choices[0].finish_reason, chat.usage.prompt_tokens, chat.usage.completion_tokens)

    text, reason, usage = "", None, None
    for event in client.chat.completions.create(model="m", messages=ask, max_tokens=3, stream=True, stream_options={"include_usage": True}):
        for choice in event.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
        usage = event.usage or usage
    print("chat stream", repr(text), reason, usage.prompt_tokens, usage.completion_tokens)

    call = client.chat.completions.create(model="m", messages=ask, max_tokens=3, tools=openai_tools, tool_choice="required")
    made = call.choices[0].message.tool_calls[0]
    print("call", made.function.name, json.loads(made.function.arguments), call.choices[0].message.content, call.choices[0].finish_reason)
    name, arguments, reason = None, "", None
    named = {"type": "function", "function": {"name": "look_up"}}
    for event in client.chat.completions.create(model="m", messages=ask, max_tokens=3, stream=True, tools=openai_tools, tool_choice=named):
        for piece in event.choices[0].delta.tool_calls or []:
            name = piece.function.name or name
            arguments += piece.function.arguments or ""
        reason = event.choices[0].finish_reason or reason
    print("call stream", name, json.loads(arguments), reason)
    answered = ask + [call.choices[0].message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": made.id, "content": "four"}]
    chat = client.chat.completions.create(model="m", messages=answered, max_tokens=3, tools=openai_tools)
    print("answered", chat.choices[0].finish_reason, chat.usage.prompt_tokens)

    text = "".join(e.choices[0].text for e in client.completions.create(model="m", prompt="one two", max_tokens=2, stream=True))
    print("completion stream", repr(text))
    vectors = client.embeddings.create(model="m", input=["one two", "three"])
    print("embeddings", [len(d.embedding) for d in vectors.data], vectors.usage.prompt_tokens)
    try:
        client.chat.completions.create(model="m", messages=ask, max_tokens=0)
    except openai.BadRequestError as e:
        print("refused", e.status_code, e.body["type"])


def anthropic_client():
    client = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)
    message = client.messages.create(model="m", messages=ask, max_tokens=3, system="be brief")
    print("message", repr(message.content[0].text), message.stop_reason, message.usage.input_tokens, message.usage.output_tokens)

    with client.messages.stream(model="m", messages=ask, max_tokens=3) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    print("message stream", repr(text), message.content[0].text == text, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens)
    message = client.messages.create(model="m", messages=ask, max_tokens=3, tools=anthropic_tools, tool_choice={"type": "any"})
    print("call", message.content[0].name, message.content[0].input, message.stop_reason)
    made = message.content[0]
    with client.messages.stream(model="m", messages=ask, max_tokens=3, tools=anthropic_tools, tool_choice={"type": "tool", "name": "look_up"}) as stream:
        message = stream.get_final_message()
    print("call stream", message.content[0].name, message.content[0].input, message.stop_reason)
    result = {"type": "tool_result", "tool_use_id": made.id, "content": "four"}
    answered = ask + [{"role": "assistant", "content": [made.model_dump(exclude_none=True)]}, {"role": "user", "content": [result]}]
    message = client.messages.create(model="m", messages=answered, max_tokens=3, tools=anthropic_tools)
    print("answered", message.stop_reason)
    try:
        client.messages.create(model="m", messages=[], max_tokens=3)
    except anthropic.BadRequestError as e:
        print("refused", e.status_code, e.body["error"]["type"])


openai_client()
anthropic_client()
