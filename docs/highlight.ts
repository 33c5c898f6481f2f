// Syntax highlighting of the code in our own documents and examples. The service never loads it.

import hljs from "highlight.js";

// The style sheet has colours for classes with this prefix.
hljs.configure({ classPrefix: "code-" });

/** Returns the name of a fence's language, such as "JavaScript" for "js", or null if the code has no language. */
export function languageName(fence: string): string | null {
	if (fence === "" || fence === "text") return null;
	return hljs.getLanguage(fence)?.name ?? null;
}

/** Returns the code as escaped markup with a span around each token. */
export function highlight(code: string, fence: string): string {
	if (fence !== "http") return hljs.highlight(code, { language: fence, ignoreIllegals: true }).value;
	// The library would guess the language of an HTTP body, but the bodies in the documents are all JSON.
	const [head = "", ...bodies] = code.split(/(?=\n\n\{)/);
	const { value } = hljs.highlight(head, { language: fence, ignoreIllegals: true });
	return value + bodies.map((body) => highlight(body, "json")).join("");
}
