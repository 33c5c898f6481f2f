// Serves /llms.txt and /llms-full.txt, with which a program reads the public documentation: an index with a sentence
// about each document, and all documents in one text. See https://llmstxt.org.

import { EXAMPLE_LANGUAGES, type ExampleValues, findLanguage } from "../examples.ts";
import type { WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { answerText, type DocsDeps, valuesOf, writeMarkdown } from "./docs-pages.ts";
import { markdownPath, PUBLIC_DOCUMENTS, type PublicDocument } from "./document-list.ts";

type Language = ReturnType<typeof findLanguage>;

export function showLlmsIndex(c: WebContext, deps: DocsDeps): Promise<Response> {
	return answerText(c, "text/plain", paths.LLMS_INDEX_PATH, () => writeIndex(valuesOf(deps)));
}

/**
 * Answers with all documents in one text. With `?lang=python` the example programs are in Python only, and the
 * JavaScript library is left out.
 */
export function showLlmsFull(c: WebContext, deps: DocsDeps): Promise<Response> {
	const language = findLanguage(c.req.query("lang"));
	return answerText(c, "text/plain", `${paths.LLMS_FULL_PATH} ${language?.value ?? "all languages"}`, () =>
		writeFull(valuesOf(deps), language),
	);
}

function writeFull(values: ExampleValues, language: Language): string {
	const parts = selectDocuments(language).map((document) => ({
		document,
		text: writePart(document, values, language),
	}));
	const contents = parts.map(
		({ document, text }) =>
			`- ${document.label} (${sizeOf(text)}, for ${document.readers}): ${addressOf(document, values)}`,
	);
	const separate = parts.map(
		({ document, text }) => `---\n\nSource: ${addressOf(document, values)}\n\n${text}`,
	);
	return `${writeIntroduction(values)}
## Contents

${contents.join("\n")}

The parts follow in this order. Each begins with a line "Source:" and the address at which it can be read alone. Skip the parts that are not for you.

${describeLanguages(values, language)}

${separate.join("\n")}`;
}

/**
 * Returns the documents in the order of the full text. Those for the network's staff come last, because most readers
 * are programs of shops and partners.
 */
function selectDocuments(language: Language): PublicDocument[] {
	const isForStaff = ({ readers }: PublicDocument) => readers === "the network's staff";
	const documents = PUBLIC_DOCUMENTS.filter(
		({ isForJavaScript }) => !isForJavaScript || language === undefined || language.value === "node",
	);
	return [...documents.filter((document) => !isForStaff(document)), ...documents.filter(isForStaff)];
}

/**
 * Returns a document as a part of the full text. Its links also name their page, because several documents have
 * headings with the same name.
 */
function writePart(document: PublicDocument, values: ExampleValues, language: Language): string {
	const markdown = writeMarkdown(document.path, values, language);
	return markdown.replaceAll("](#", () => `](${addressOf(document, values)}#`);
}

function describeLanguages({ publicUrl }: ExampleValues, language: Language): string {
	const address = `${publicUrl}${paths.LLMS_FULL_PATH}`;
	if (language !== undefined) {
		const left = language.value === "node" ? "" : ", without the JavaScript library";
		return `Example programs are in ${language.label} only${left}. All of them are in ${address}.`;
	}
	const choices = EXAMPLE_LANGUAGES.map(({ value, label }) => `\`?lang=${value}\` (${label})`).join(", ");
	return `Example programs are in ${EXAMPLE_LANGUAGES.length} languages. For a shorter text with one of them, and with the JavaScript library only for Node, add to ${address} one of ${choices}.`;
}

function writeIndex(values: ExampleValues): string {
	const { publicUrl } = values;
	const documents = PUBLIC_DOCUMENTS.map(
		(document) =>
			`- [${document.label}](${addressOf(document, values)}): ${document.summary} For ${document.readers}.`,
	);
	return `${writeIntroduction(values)}
## Documents

${documents.join("\n")}

## For tools

- [OpenAPI 3.1](${publicUrl}/openapi.json): Every call with its fields, and the callbacks to shops and partners under \`webhooks\`.
- [All documents in one text](${publicUrl}${paths.LLMS_FULL_PATH}): The text of all documents above, with a list of contents. \`?lang=python\` leaves out what concerns other languages.
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

function addressOf({ path }: PublicDocument, { publicUrl }: ExampleValues): string {
	return `${publicUrl}${markdownPath(path)}`;
}

/** Returns the size of a text in KB, so that a program can decide whether to read the text. */
function sizeOf(text: string): string {
	return `${Math.ceil(Buffer.byteLength(text) / 1_000)} KB`;
}
