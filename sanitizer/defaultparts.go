package sanitizer

// nameParts are the words of which the names of header fields, query parameters,
// API members, metrics, media types and client libraries are made.
const nameParts = `
aad accel accept accepted access account adapter add additional addr address affinity after age agent aig aiohttp aiperf
algorithm alive all allow allowed alt always amazon amz amzn annotations anthropic any api apigw apim app application
approval approximate arch args arguments as assertion assistants async at attempt attempted audio auth authenticate
authentication authorization avg aws axios azure azureml backend background bad baggage base batch batching beam bedrock
before benchmark best beta between bias billed bin block blocked body bootstrap breakers browser bucket budget buffering
by bytes cache cached caching call calling calls candidate candidates categories category cdn cert cf ch characters
charset chat choice choices chrome citation citations city claude clear cli client cloud cluster code codex collection
compatible completed completion compute computer config configuration connect connecting connection connector connectors
const container containers content contents context continue control conversation cookie copilot correlation cost count
counting country create created creation credential credentials cross csrf css csv ctx curl cursor custom customer
dangerous data datadog date datetime db debug declarations decode decoder decoding decorator default definitions defs
delta dependency deployment description dest destination detail details detected device digest dimensions direct disable
display disposition dns dnt do document documents domain done dotnet download dp draft dry ds duration dynatemp early
ebnf ec echo edge edits effort email embedder embedding embeds enable enabled encoding encrypted end endpoint endpoints
engine enum environment envoy eos ephemeral error errortype eta etag eval evaluated event eventstream ew examples
executable execution expand expect expected expires exponent expose ext extended extensions external extra failed
fallbacks fast fdid feedback fetch field fields file filename files filter filtered filters final fine fingerprint
finish finished firefox flac flags fly for force form format forwarded forwards frame frequency from front full function
functions gateway gen genai generate generated generation gif github go goog google gpc gpu grained grammar grant groq
grounding group groups grpc guard guardrail guardrailidentifier guardrails guided guidellm harm has hate headers height
helicone helper history hits host hr html http https httpx hyper id idempotency identifier ids if ignore image images in
include incomplete indent index inference info information initiator inline input inputs insecure insomnia instruction
instructions intent interaction interleaved internal invocation invoked ip ipcountry ipv is item items jailbreak java
javascript job jpeg jpg json jwt keep key kong kv kwargs label labels lambdac lang langchain language last latency len
length level library limit line link litellm llamaindex llm load location locust log logit logits logprob logprobs long
lookup loop lora low main management mapping markdown match max maximum mcp md media memory message messages meta
metadata method methods metrics mime min minimum mirostat mixed mlock mm mmap mobile modalities modality mode model
models modified mozilla mp mpeg ms msazure multipart multiplier name names namespace native ndjson nel network never new
newline no node nonce none nullable num number obfuscation object objective ocp octet of offset ogg oidc okhttp ollama
on one only openai opener openrouter operation operator options order ordering org organization origin original os other
outcome output outputs over overhead overloaded override package page pagesize parallel param parameters params parent
parentspanid part partial parts path paths pattern pdf pdfs peer penalize penalty per performance performanceconfig
permissions permitted php pill ping plain plan platform plugins png pod point poison policies policy poll pop port
portkey post postman powered pragma preamble prebuilt predict predicted prediction preferred prefetch prefill prefix
presence pretty previous price priority probability problem probs process processing processor processors progress
project prompt prompting properties property protection proto protobuf protocol provider proxied proxy purpose python
qualifiers quality quantizations queries query queue queued rai range ranges rank ranker ranking ratelimit ratelimited
ratings raw ray read real realtime reason reasoning redacted redirect ref reference referer referrer refresh refusal
regex region rejected remaining remapped remapping remote render renewalperiod repeat repetition replay replica report
reporting request requested requestid requests require required reqwest reset resolution resource response responses
result results retention retries retrieval retry return rid robots role room route routed router routing rpm rq ruby
runtime rust safari safety salt sample sampled samplers sampling save scale schema scheme scope score sdk se search sec
second secret security securitytoken seed self semantic sequence sequences served server servers service session
sessionkey set settings severity sexual sha should sig signature signedheaders since single site size skill skills skip
slo slot sort source sourcemap sources sp spaces span spanid spec special speech spend spr sr sse ssl ssr st stainless
start state status step stop stopped stopping store str stream streaming strict strictness structured subscription
suffix summary sv svc system tag tags target tau te team temperature template tenant test text think thinking thought
thoughts thread threshold tier time timeout timer timestamp timezone timing timings title tls to token tokenize tokens
tool tools top total tpm trace traceid traceparent tracestate traffic trailer transaction transfer transforms transport
trigger true truncate truncated truncation ttfb ttl turn type typical ua uber uid undici units unmodified until upgrade
upstream uri url urlencoded usage use used user useragent username validation value variables varnish vary vector vegeta
verbose verbosity vercel version vertex via violence virtual visitor vllm vnd voice vram vscode wait want warning
watermark wav web webm webp websocket wget width window with word words worker workspace write www xargs xml xss xtc`

// modelParts are the words of which public models' names are made: families,
// publishers, sizes, formats.
const modelParts = `
abab ada afm agent agents ai alibaba all allenai alpaca alpha amazon anthropic ap apac apertus apple aquila ar arctic
asr assistant audio auto awq aws aya azure baai babbage baichuan baidu bartowski base bedrock bert beta bf bge bielik
bigcode bigscience bin bison bit bllossom bloom bloomz bnb bytedance calm canvas chat chatglm chatgpt classifier claude
clova code codegemma coder codestral codex cogito cohere command community context cpu ctx curie dall databricks davinci
dbrx de deberta deep deepseek default demo detector dev devstral distilbert distill doc docs dolly dolphin doubao dpo
draft dummy dynamic eagle edge eeve eleutherai elyza embed embedder embedding embeddings en english ernie es eu eurollm
exaone exl exp experimental face facebook fake falcon family fast fireworks flan flash flux fp fr free fugu gcp gecko
gemini gemma ggml gguf gigachat glm global google gpt gptq gpu granite grok groq gte guard haiku hd hermes hi hugging
huggingface hunyuan hybrid hyperclova ibm image imagen images instant instruct int internlm internvl intfloat iq it ja
jamba jina jinaai jurassic kat kimi ko krutrim kv labs lambdac large latest lfm lg light ling lion liquid lite litellm
llama llm llms lm lmstudio lmsys local long magistral main mamba math mathstral maverick md medgemma medium meta micro
microsoft mimo mini minilm minimax ministral mistral mistralai mixtral mlx mock mode model models moderation moe molmo
moonshot moonshotai mosaicml mpnet mpt mtp multilingual nano nekomata nemo nemotron neo neox neuralmagic next nf nightly
node nomic non north nous nousresearch nova nv nvidia ocr ollama olmo omni online onnx openai openchat openelm
openhermes openrouter opt opus orca org orion orpo oss paligemma palm pangu parse parser perplexity phi pixtral plamo
plus polyglot poro pplx premier preview pro prod pt publishers pythia quant quantized quants qvq qwen qwq rag realtime
reason reasoning redhat redhatai reel release rerank reranker research reward ring rinna rlhf rm rnj roberta router ru
safetensors sahabat sakana salamandra sarvam scout sd sdxl sea search seed seedream sentence server sft sglang
shieldgemma sim skywork sm small smol smollm smolvlm snowflake solar sonar sonic sonnet sora spec speculative speculator
speech sql stability stabilityai stable stablelm staging starcoder starcoderbase step stockmark stt summarizer super
swallow tb telechat tencent tensorrt test teuken text tgi thebloke thenlper think thinking thudm tiiuae tiny tinyllama
titan together togethercomputer tool tools transcribe transcription transformers translate translation triton trt tts
tulu turbo ud ul ultra unicorn unsloth upstage us use veo version vertex vicuna video viking vision vl vllm vlm voice
voxtral voyage whisper wizard wizardlm xai xiaomi xl xs xxl xxs yi zai zephyr zh zhipu`

// wordParts are the words of which services make finish reasons, error types
// and error codes.
const wordParts = `
abort aborted access account action again already api argument arguments assertion assistant attribute audio auth
authenticated authentication authorization authorized available bad balance batch billing blocked blocklist body budget
busy call calls cancel canceled cancellation cancelled capacity certificate chunk client closed code complete completed
completion completions config configuration conflict connect connection contact content context country credit credits
critical cuda data dead deadline decode decoding default deleted denied deployment deprecated device died division dns
downstream duplicate embedding embeddings encode encoding end endpoint engine entity eos error errors event exceed
exceeded exceeds exception exhausted exist exists expire expired external fail failed failure fatal fault few field
fields file files filter filtered finish finished forbidden format found function functions gateway generate generation
gone gpu grammar grpc guard guardrail hang header headers http https image images implemented import incomplete index
init initialization input insufficient internal intervened invalid io job json key keys language large later length
limit limited limits load loaded loading logprobs long lookup loss malformed many max media memory message messages
method min missing model models moderation network nil none normal not null of operation organization os other out
output overflow overload overloaded panic param parameter parameters params parse parsing path pause payment pending
permission permissions pointer policy precondition prohibited project prompt proxy queue queued quota raise rate reached
read ready recitation recoverable refusal region request requests required reset resource resources response responses
retries retry run runtime safety sample sampling schema seed sequence server service session short size small socket
spii ssl standard state status stop stopped store stream streaming support syntax system temperature temporarily
territory text thread throttle throttled throttling throw timed timeout tls token tokens too tool tools transient
transport turn type types unauthenticated unauthorized unavailable unexpected unimplemented unknown unload unprocessable
unspecified unsupported up upload upstream url use used user users validation value values vector version video
violation warming window worker write zero`
