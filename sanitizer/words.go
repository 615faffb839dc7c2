package sanitizer

import (
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// otherWord stands for a word that is not kept.
const otherWord = "other"

// maxReasons bounds the finish reasons of one exchange.
const maxReasons = 128

// word keeps a word of an API: one that the policy lists, or one made of its
// word parts, 1 to 64 letters, '_', '.' and '-' with at most 4 digits. Anything
// else becomes a pseudonym, "other-…", counted. nil for "".
func (s *Sanitizer) word(column, value string) *string {
	if value == "" {
		return nil
	}
	return new(s.keepWord(column, value))
}

// listed keeps a word that the policy knows, nothing else: a client may write
// what it likes there. nil for "".
func (s *Sanitizer) listed(column, value string) *string {
	if value == "" {
		return nil
	}
	if known, ok := s.vocab.wholeWords[value]; ok {
		return &known
	}
	s.tally.add("word", column, 1)
	return new(otherWord)
}

func (s *Sanitizer) keepWord(column, value string) string {
	if known, ok := s.vocab.wholeWords[value]; ok {
		return known
	}
	if s.vocab.plainWord(value) {
		return value
	}
	s.tally.add("word", column, 1)
	return otherWord + "-" + s.keys.name("word", value)
}

// reasons keeps finish reasons; nil stays nil.
func (s *Sanitizer) reasons(said []string) []string {
	if said == nil {
		return nil
	}
	if len(said) > maxReasons {
		s.tally.add("word_count", "finish_reasons", len(said)-maxReasons)
		said = said[:maxReasons]
	}
	kept := make([]string, len(said))
	for i, reason := range said {
		kept[i] = s.keepWord("finish_reasons", reason)
	}
	return kept
}

// maxModel is the longest model name kept, bytes.
const maxModel = 128

// model keeps a model's name, or puts a pseudonym in its place. Of fine-tunes
// (ft:base:org:name:id) the base stays, of ARNs the kind, of file paths the
// file. nil for "".
func (s *Sanitizer) model(column, name string) *string {
	if name == "" {
		return nil
	}
	if base, ok := fineTuned(name); ok && s.vocab.plainModel(base) {
		s.tally.add("fine_tune", column, 1)
		return new("ft:" + base + ":" + cutSegment)
	}
	if strings.HasPrefix(name, "arn:") {
		s.tally.add("arn", column, 1)
		return new("arn:" + s.modelName(name[strings.LastIndexByte(name, '/')+1:]))
	}
	if slash := strings.LastIndexAny(name, `/\`); slash >= 0 && isFilePath(name) {
		s.tally.add("file_path", column, 1)
		name = name[slash+1:]
	}
	kept := s.modelName(name)
	if kept != name {
		s.tally.add("model_name", column, 1)
	}
	return &kept
}

// modelName is the name, or its pseudonym.
func (s *Sanitizer) modelName(name string) string {
	if s.vocab.plainModel(name) {
		return name
	}
	return "model-" + s.keys.name("model", name)
}

// fineTuned returns the base model of an OpenAI fine-tune's name.
func fineTuned(name string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(name, "ft:")
	base, _, more := strings.Cut(rest, ":")
	return base, ok && more
}

// isFilePath reports an absolute, home or drive path.
func isFilePath(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, ".") ||
		len(name) > 2 && name[1] == ':' && isLetter(name[0]) || strings.Contains(name, `\`)
}

// oneOf returns value if it is one of the known ones, else fallback: the
// recorder's own enums are checked too, so that a mistake there cannot let
// captured text through.
func oneOf[T ~string](s *Sanitizer, column string, value, fallback T, known []T) T {
	if value == fallback || slices.Contains(known, value) {
		return value
	}
	s.tally.add("enum", column, 1)
	return fallback
}

// enums of trace that the recorder sets.
var (
	apiKinds = []trace.APIKind{
		trace.KindOpenAIChat, trace.KindOpenAICompletions, trace.KindOpenAIEmbeddings, trace.KindOpenAIResponses,
		trace.KindAnthropicMessages, trace.KindGemini, trace.KindOllamaChat, trace.KindOllamaGenerate,
		trace.KindTGIGenerate, trace.KindTritonGenerate, trace.KindBedrockConverse, trace.KindBedrockInvoke,
		trace.KindCohereChat, trace.KindSGLangGenerate, trace.KindLlamaCppCompletion,
	}
	tokenSources = []trace.TokenSource{trace.TokensUsage, trace.TokensServerHeader, trace.TokensLocal}
	vantages     = []trace.Vantage{trace.VantageClient, trace.VantageServer, trace.VantageProxy}
	httpVersions = []string{"1.0", "1.1", "2"}
	details      = []trace.OutcomeDetail{
		trace.DetailRecorded, trace.DetailCap, trace.DetailGap, trace.DetailLateJoin, trace.DetailRecorderStop,
		trace.DetailFIN, trace.DetailRST, trace.DetailReset, trace.DetailRefused, trace.DetailTLS, trace.DetailDNS,
	}
	bodyCodings = []string{"gzip", "deflate", "br", "zstd", "identity", "compress"}
)
