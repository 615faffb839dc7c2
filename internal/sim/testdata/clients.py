"""The official clients against a server at argv[1]: one line for each answer."""

import sys

import anthropic
import openai

base = sys.argv[1]
ask = [{"role": "user", "content": "one two three"}]


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
    try:
        client.messages.create(model="m", messages=[], max_tokens=3)
    except anthropic.BadRequestError as e:
        print("refused", e.status_code, e.body["error"]["type"])


openai_client()
anthropic_client()
