// The ten usual mistakes in signing. For each mistake, the table lists the texts and keys that may have been
// used by mistake. An HMAC never matches by chance, so a match proves that the mistake was made.

import { createHash } from "node:crypto";
import { canonicalString, sha256Hex, signatureMatches, signingKey } from "../domain/signature.ts";
import { canonicalOf, type ReadRequest, type SignedParts } from "./pasted-request.ts";

/** One way in which a request may have been signed wrongly. The parts that a variant does not have were right. */
interface Variant {
	parts?: Partial<SignedParts>;
	/** The whole text that was signed, if it was not composed from the parts of the request. */
	text?: string;
	key?: string | Uint8Array;
	/** Sentence about the wrong key. It never contains a secret. */
	detail?: string;
}

interface Facts {
	/** The secrets with which the request could correctly be signed. */
	secrets: readonly string[];
	/** Keys that must not be used for signing, each with a sentence that says what the key is. */
	wrongKeys: readonly { key: string; detail: string }[];
	/** Other paths and queries that may have been signed, such as those of the programme's Postback URLs. */
	targets: readonly string[];
	/** Lets other work run. It is called before each mistake is tried with one of the secrets. */
	pause(): Promise<void>;
}

interface Mistake {
	name: string;
	cure: string;
	variants(request: SignedParts, secret: string, facts: Facts): readonly Variant[];
}

/**
 * All mistakes in the order in which they are tried. The wrong encoding of an otherwise right signature must be tried
 * first. Another mistake may lead to the correct text, for example a trimmed body if there was nothing to trim. If
 * that mistake were tried first, it would match the wrongly encoded signature and be reported instead of the
 * encoding.
 */
export const MISTAKES: readonly Mistake[] = [
	{
		name: "The signature was not in hex",
		cure: "Send the HMAC as 64 hex digits and nothing else: not in base64, and without a prefix such as sha256=.",
		variants: () => [{}],
	},
	{
		name: "The body had other bytes at its start or end, or other line breaks",
		cure: "Hash the raw body before anything reads or changes it. Editors, logs and echo add a line break, and a body that was already read is empty.",
		variants: ({ body }) =>
			[`${body}\n`, `${body}\r\n`, body.trimEnd(), body.replaceAll("\n", "\r\n"), `\ufeff${body}`, ""].map(
				(text) => ({ parts: { body: text } }),
			),
	},
	{
		name: "The body was serialised again",
		cure: "Sign and check the bytes of the body as they are sent. JSON that is parsed and written again has other bytes.",
		variants: ({ body }) => rewriteJson(body).map((text) => ({ parts: { body: text } })),
	},
	{
		name: "Another path was signed",
		cure: "Sign the path with the query exactly as it is sent, from the first / after the host. Proxies and frameworks may drop the query or the start of the path.",
		variants: ({ target }, _, { targets }) =>
			[...targets, ...otherPaths(target)].map((text) => ({ parts: { target: text } })),
	},
	{
		name: "Another method was signed",
		cure: "Sign the method of the request in capital letters. A redirect turns a POST into a GET and drops the body, so save the final URL.",
		variants: ({ method }) =>
			[method.toUpperCase(), method.toLowerCase(), "POST", "GET"].map((text) => ({
				parts: { method: text },
			})),
	},
	{
		name: "Another secret was used",
		cure: "Use this programme's active signing secret. It begins with rbs_, and Keys and snippets shows its last characters.",
		variants: (_, __, { wrongKeys }) => wrongKeys,
	},
	{
		name: "The secret was changed before it was used",
		cure: "Use the secret as it was shown, as text: with rbs_, without white space or quotation marks, and not decoded.",
		variants: (_, secret) => misspell(secret).map((key) => ({ key })),
	},
	{
		name: "The timestamp was in milliseconds",
		cure: "Send and sign Unix time in seconds, which has ten digits.",
		variants: ({ timestamp }) =>
			[`${timestamp}000`, timestamp.slice(0, 10)].map((text) => ({ parts: { timestamp: text } })),
	},
	{
		name: "The five parts were joined in another way",
		cure: "Sign method, path with query, timestamp, nonce and body digest in this order, with one line feed between two parts and none at the end.",
		variants: (request) => otherTexts(request).map((text) => ({ text })),
	},
	{
		name: "The digest of the body was not in lower-case hex",
		cure: "Write the SHA-256 of the body as 64 hex digits in lower case.",
		variants: ({ method, target, timestamp, nonce, body }) => {
			const base64 = createHash("sha256").update(body).digest("base64");
			return [sha256Hex(body).toUpperCase(), base64].map((digest) => ({
				text: canonicalString(method, target, timestamp, nonce, digest),
			}));
		},
	},
];

interface Explanation {
	mistake: Mistake;
	detail: string;
	signed: SignedParts & { text: string };
}

/** Returns the first mistake that explains the signature of a request, or null if none of them does. */
export async function explain(request: ReadRequest, facts: Facts): Promise<Explanation | null> {
	const signature = hexOf(request.signature);
	for (const mistake of MISTAKES) {
		for (const secret of facts.secrets) {
			await facts.pause();
			for (const variant of mistake.variants(request, secret, facts)) {
				const parts = { ...request, ...variant.parts };
				const text = variant.text ?? canonicalOf(parts);
				if (signatureMatches(signingKey(variant.key ?? secret), text, signature)) {
					return { mistake, detail: variant.detail ?? "", signed: { ...parts, text } };
				}
			}
		}
	}
	return null;
}

/**
 * Converts a signature to lower-case hex. The signature may be in base64, or have a prefix such as "sha256=".
 */
function hexOf(signature: string): string {
	const value = signature.replace(/^(?:sha256|v1)=/i, "");
	return /^[\w+/-]{43}=?$/.test(value) ? Buffer.from(value, "base64").toString("hex") : value.toLowerCase();
}

function misspell(secret: string): (string | Uint8Array)[] {
	const bare = secret.replace(/^rbs_/, "");
	const decoded = [Buffer.from(bare, "hex"), Buffer.from(bare, "base64")];
	return [`${secret}\n`, ` ${secret}`, `"${secret}"`, bare, ...decoded];
}

function otherPaths(target: string): string[] {
	const [path = "", ...query] = target.split("?");
	const withQuery = (other: string) => [other, ...query].join("?");
	const [, first = "", ...rest] = path.split("/");
	return [
		path,
		// If the base URL of an HTTP client has a path, the client may sign the path without that part, or with
		// that part twice.
		withQuery(`/${rest.join("/")}`),
		withQuery(`/${first}${path}`),
		target.slice(1),
		withQuery(path.endsWith("/") ? path.slice(0, -1) : `${path}/`),
	];
}

function otherTexts({ method, target, timestamp, nonce, body }: SignedParts): string[] {
	const digest = sha256Hex(body);
	const parts = [method, target, timestamp, nonce, digest];
	return [
		`${parts.join("\n")}\n`,
		...["", "\r\n", "\\n", ".", ":", "|"].map((separator) => parts.join(separator)),
		[method, target, timestamp, digest].join("\n"),
		[method, target, nonce, timestamp, digest].join("\n"),
		[timestamp, nonce, method, target, digest].join("\n"),
		[timestamp, nonce, digest].join("\n"),
		[method, target, timestamp, nonce, body].join("\n"),
		`${timestamp}.${body}`,
		body,
	];
}

/**
 * Maximum length of a body that is rewritten. Rewriting a longer body would take milliseconds, and the bodies
 * of sales and callbacks have less than 2 KB.
 */
const MAX_REWRITTEN_CHARACTERS = 8_192;

/** Returns the JSON texts that common libraries write for the same value. */
function rewriteJson(body: string): string[] {
	if (body.length > MAX_REWRITTEN_CHARACTERS) return [];
	try {
		const json: unknown = JSON.parse(body);
		const plain = JSON.stringify(json);
		// Python writes a space after each comma and colon outside of strings.
		const spaced = plain.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[,:]/gs, (token) =>
			token.length === 1 ? `${token} ` : token,
		);
		return [
			...[plain, spaced, JSON.stringify(json, null, 2), JSON.stringify(json, null, 4)],
			...[escapeUnicode(plain), escapeUnicode(spaced)],
			// PHP's json_encode also escapes slashes.
			...[plain.replaceAll("/", "\\/"), escapeUnicode(plain).replaceAll("/", "\\/")],
		];
	} catch {
		// This line is reached if the body is not JSON or is nested too deeply.
		return [];
	}
}

function escapeUnicode(json: string): string {
	return json.replace(
		/[\u0080-\uffff]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
