// /llms.txt and /llms-full.txt, with which a program finds and reads the public documentation: an index with a sentence
// about each document, and all documents in one text. See https://llmstxt.org.

import type { ExampleValues } from "../examples.ts";
import type { WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { answerText, type DocsDeps, valuesOf, writeMarkdown } from "./docs-pages.ts";
import { markdownPath, PUBLIC_DOCUMENTS } from "./document-list.ts";

export function showLlmsIndex(c: WebContext, deps: DocsDeps): Promise<Response> {
	return answerText(c, "text/plain", paths.LLMS_INDEX_PATH, () => writeIndex(valuesOf(deps)));
}

export function showLlmsFull(c: WebContext, deps: DocsDeps): Promise<Response> {
	const values = valuesOf(deps);
	return answerText(c, "text/plain", paths.LLMS_FULL_PATH, () =>
		[
			writeIntroduction(values),
			...PUBLIC_DOCUMENTS.map(({ path }) => `${sourceLine(path, values)}\n\n${writeMarkdown(path, values)}`),
		].join("\n"),
	);
}

function writeIndex(values: ExampleValues): string {
	const { publicUrl } = values;
	const documents = PUBLIC_DOCUMENTS.map(
		({ path, label, summary }) => `- [${label}](${publicUrl}${markdownPath(path)}): ${summary}`,
	);
	return `${writeIntroduction(values)}
## Documents

${documents.join("\n")}

## For tools

- [OpenAPI 3.1](${publicUrl}/openapi.json): Every call with its fields, and the callbacks to shops and partners under \`webhooks\`.
- [All documents in one text](${publicUrl}${paths.LLMS_FULL_PATH}): The text of all documents above.
`;
}

function writeIntroduction({ brand, publicUrl }: ExampleValues): string {
	return `# ${brand}: documentation for shops and partners

> ${brand} is an affiliate network. A shop's server reports its sales to ${publicUrl} with signed requests, and gets a signed callback for each status change of a conversion.

- The address of the API is ${publicUrl}, and the brand in the header names is \`${brand}\`, as in \`X-${brand}-Signature\`.
- API key, signing secret and Postback URL of a programme are on its page Integration, after signing in.
- Amounts are decimal strings, such as \`"129.90"\`, and never JSON numbers.
- Every page of the documentation is available as Markdown: add \`.md\` to its address, or send \`Accept: text/markdown\`.
`;
}

/** Returns the line that separates documents in the full text, and says where the document comes from. */
function sourceLine(path: string, { publicUrl }: ExampleValues): string {
	return `---\n\nSource: ${publicUrl}${markdownPath(path)}`;
}
