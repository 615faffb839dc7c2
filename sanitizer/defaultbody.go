package sanitizer

import "strings"

// defaultBody is the treatment of the API families' bodies.
func defaultBody() BodyPolicy {
	keep := make(map[string]Grammar)
	for grammar, places := range map[Grammar]string{
		GrammarWord: keptWords, GrammarInteger: keptIntegers, GrammarNumber: keptNumbers, GrammarFlag: keptFlags,
		GrammarModel: keptModels, GrammarName: keptNames,
	} {
		for place := range strings.FieldsSeq(places) {
			keep[place] = grammar
		}
	}
	return BodyPolicy{
		Drop:      strings.Fields(droppedPlaces),
		Pseudonym: strings.Fields(pseudonymPlaces),
		Keep:      keep,
		JSON:      strings.Fields(jsonPlaces),
		Text:      strings.Fields(textPlaces),
	}
}

// droppedPlaces are credentials at any depth; the configuration of outside
// services, which holds them; and what repeats texts or can be turned back into
// them.
const droppedPlaces = `
**.*secret* **.*passw* **.*credential* **.*apikey* **.*accesskey* **.*privatekey* **.*authorization*
**.*accesstoken* **.*authtoken* **.*sessiontoken* **.*refreshtoken* **.*securitytoken* **.*bearer* **.*cookie*
**.*jwt* **.token **.authentication **.extra_headers
tools[].headers tools[].server_url mcp_servers data_sources guardrailConfig trace litellm_params connectors
messages[].content[].image_url contents[].parts[].fileData contents[].parts[].inlineData images image_data
choices[].logprobs output[].content[].logprobs logprobs.content candidates[].logprobsResult prompt_logprobs
prompt_token_ids token_ids choices[].token_ids choices[].prompt_token_ids input_ids input_embeds output_ids context
**.generated_text data[].embedding embedding embeddings predictions **.signature **.encrypted_content
**.thoughtSignature citations **.annotations error.message error.param response.error.message
kv_transfer_params logit_bias stop stop_sequences stopSequences`

// pseudonymPlaces are identities by which exchanges belong together.
const pseudonymPlaces = `
user safety_identifier prompt_cache_key previous_response_id conversation conversation.id conversation_id session_id
metadata.user_id metadata.session_id metadata.conversation_id cache_salt id response.id responseId response_id
messages[].name messages[].tool_call_id messages[].tool_calls[].id messages[].content[].id
messages[].content[].tool_use_id messages[].content[].toolUse.toolUseId messages[].content[].toolResult.toolUseId
input[].id input[].call_id output[].id output[].call_id content[].id choices[].message.tool_calls[].id
contents[].parts[].functionCall.id contents[].parts[].functionResponse.id service_account system_fingerprint`

// keptWords are places of the API's own words.
const keptWords = `
**.type **.role **.object **.finish_reason **.stop_reason **.finishReason **.stopReason **.done_reason **.status
service_tier reasoning_effort reasoning.effort reasoning.summary verbosity text.verbosity text.format.type tool_choice
function_call encoding_format truncation truncate format modalities[] generationConfig.responseModalities[]
error.code incomplete_details.reason output_config.effort thinking.display
toolConfig.functionCallingConfig.mode generationConfig.thinkingConfig.thinkingLevel`

// keptIntegers are counts.
const keptIntegers = `
max_tokens max_completion_tokens max_output_tokens max_new_tokens min_tokens n best_of top_k top_logprobs logprobs seed
num_predict n_predict num_ctx dimensions max_tool_calls index choices[].index thinking.budget_tokens
usage.** usageMetadata.** prompt_eval_count eval_count
generationConfig.maxOutputTokens generationConfig.candidateCount generationConfig.topK generationConfig.seed
generationConfig.thinkingConfig.thinkingBudget options.num_predict options.num_ctx options.top_k options.seed
parameters.max_new_tokens parameters.top_k parameters.seed parameters.best_of parameters.top_n_tokens
sampling_params.max_new_tokens sampling_params.top_k sampling_params.min_new_tokens sampling_params.n
inferenceConfig.maxTokens textGenerationConfig.maxTokenCount max_tokens_to_sample max_gen_len p k`

// keptNumbers are sampling parameters and measurements.
const keptNumbers = `
temperature top_p min_p frequency_penalty presence_penalty repetition_penalty repeat_penalty typical_p length_penalty
generationConfig.temperature generationConfig.topP generationConfig.presencePenalty generationConfig.frequencyPenalty
options.temperature options.top_p options.min_p options.repeat_penalty
parameters.temperature parameters.top_p parameters.repetition_penalty parameters.typical_p
sampling_params.temperature sampling_params.top_p sampling_params.min_p
inferenceConfig.temperature inferenceConfig.topP textGenerationConfig.temperature textGenerationConfig.topP
timings.* metrics.*`

// keptFlags are switches.
const keptFlags = `
stream stream_options.* store parallel_tool_calls ignore_eos echo raw think done background return_full_text
parameters.do_sample parameters.details parameters.return_full_text parameters.watermark
parameters.decoder_input_details tools[].strict tools[].function.strict response_format.json_schema.strict
add_generation_prompt continue_final_message add_special_tokens skip_special_tokens cache_prompt
generationConfig.thinkingConfig.includeThoughts sampling_params.ignore_eos messages[].content[].is_error`

// keptModels are names of models.
const keptModels = `model models[] modelVersion response.model message.model fallbacks[] modelId`

// keptNames are names that developers gave: of tools, schemas and required
// members. Those that are not made of known words become pseudonyms, the same
// wherever a name stands.
const keptNames = `
tools[].name tools[].function.name functions[].name tool_choice.name tool_choice.function.name function_call.name
messages[].tool_calls[].function.name messages[].function_call.name messages[].content[].name input[].name
messages[].content[].toolUse.name contents[].parts[].functionCall.name contents[].parts[].functionResponse.name
tools[].functionDeclarations[].name toolConfig.tools[].toolSpec.name
choices[].message.tool_calls[].function.name output[].name content[].name
response_format.json_schema.name text.format.name
tools[].function.parameters.**.required[] tools[].parameters.**.required[] tools[].input_schema.**.required[]
functions[].parameters.**.required[] tools[].functionDeclarations[].parameters.**.required[]`

// jsonPlaces are JSON by themselves, as text in a string or as a value: tool
// arguments, tool results and schemas.
const jsonPlaces = `
messages[].tool_calls[].function.arguments messages[].function_call.arguments messages[].content[].input
messages[].content[].toolUse.input messages[].content[].toolResult.content[].json input[].arguments
contents[].parts[].functionCall.args contents[].parts[].functionResponse.response
contents.parts.functionCall.args contents.parts.functionResponse.response
tools[].function.parameters tools[].parameters tools[].input_schema functions[].parameters
tools[].functionDeclarations[].parameters tools[].functionDeclarations[].response
toolConfig.tools[].toolSpec.inputSchema
response_format.json_schema.schema text.format.schema generationConfig.responseSchema guided_json format.properties
choices[].message.tool_calls[].function.arguments choices[].message.function_call.arguments output[].arguments
content[].input message.tool_calls[].function.arguments output.message.content[].toolUse.input
candidates[].content.parts[].functionCall.args`

// textPlaces are what people and models wrote.
const textPlaces = `
messages[].content messages[].content[] messages[].content[].text messages[].content[].thinking
messages[].content[].refusal messages[].refusal messages[].reasoning_content messages[].reasoning
messages[].thinking messages[].content[].content messages[].content[].content[].text
messages[].content[].toolResult.content[].text messages[].content[].reasoningContent.reasoningText.text
system system[].text prompt prompt[] suffix input input[] input[].content input[].content[].text input[].output
input[].summary[].text instructions inputs inputs[] text_input text text[] inputText message chat_history[].message
preamble documents[] documents[].text documents[].data.text documents[].data.title template
contents.parts.text contents[].parts.text contents[].parts[].text
systemInstruction.parts.text systemInstruction.parts[].text system_instruction.parts[].text
contents[].parts[].executableCode.code contents[].parts[].codeExecutionResult.output
tools[].function.description tools[].description functions[].description tools[].functionDeclarations[].description
toolConfig.tools[].toolSpec.description response_format.json_schema.description
choices[].message.content choices[].message.reasoning_content choices[].message.reasoning choices[].message.refusal
choices[].text output[].content[].text output[].content[].refusal output[].summary[].text
content[].text content[].thinking completion message.content message.content[].text message.thinking response
text_output outputText results[].outputText generation output.message.content[].text
candidates[].content.parts[].text`
