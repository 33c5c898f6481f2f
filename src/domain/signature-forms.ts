// How the parts are joined before they are signed (contract section 5), and how people join them by mistake, most of
// them as another service asks for it.

export interface SignedForm {
	/** Null for the right one. */
	cause: string | null;
	text: string;
	/** Null: the canonical string. */
	write: ((parts: FormParts) => string) | null;
}

export interface FormParts {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	/** Of the body, in hex. */
	digest: string;
}

export const RIGHT_FORM: SignedForm = {
	cause: null,
	text: "Five lines, joined by a line feed.",
	write: null,
};

/** Whoever signs the body itself signs all of it each time: of a large one that is not tried. */
const MAX_SIGNED_BODY_LENGTH = 8_192;

const lines = ({ method, target, timestamp, nonce, digest }: FormParts): string[] => [
	method,
	target,
	timestamp,
	nonce,
	digest,
];
const FIVE_LINES =
	"Join method, path with query, timestamp, nonce and the SHA-256 of the body by single line feeds.";

const MISTAKEN_FORMS: readonly SignedForm[] = [
	{
		cause: "form-line-feed-at-end",
		text: "There was a line feed behind the last part. Sign the five parts with line feeds between them only.",
		write: (parts) => `${lines(parts).join("\n")}\n`,
	},
	{
		cause: "form-crlf",
		text: "The parts were joined by CRLF. Join them by single line feeds.",
		write: (parts) => lines(parts).join("\r\n"),
	},
	{
		cause: "form-backslash-n",
		text: "The parts were joined by a backslash and an n, as '\\n' is in single quotes. Join them by line feeds.",
		write: (parts) => lines(parts).join("\\n"),
	},
	{
		cause: "form-not-joined",
		text: "The parts were signed without line feeds between them. Join them by single line feeds.",
		write: (parts) => lines(parts).join(""),
	},
	{
		cause: "form-digest-upper-case",
		text: "The SHA-256 of the body was written in upper case. Write it in lower-case hex.",
		write: (parts) => lines({ ...parts, digest: parts.digest.toUpperCase() }).join("\n"),
	},
	{
		cause: "form-digest-base64",
		text: "The SHA-256 of the body was written in base64. Write it in lower-case hex.",
		write: (parts) =>
			lines({ ...parts, digest: Buffer.from(parts.digest, "hex").toString("base64") }).join("\n"),
	},
	{
		cause: "form-without-nonce",
		text: `The nonce was not signed. ${FIVE_LINES}`,
		write: ({ method, target, timestamp, digest }) => [method, target, timestamp, digest].join("\n"),
	},
	{
		cause: "form-nonce-first",
		text: `Nonce and timestamp were signed in the other order. ${FIVE_LINES}`,
		write: ({ method, target, timestamp, nonce, digest }) =>
			[method, target, nonce, timestamp, digest].join("\n"),
	},
];

const FORMS_WITH_BODY: readonly SignedForm[] = [
	{
		cause: "form-body-not-hashed",
		text: "The body itself was signed in place of its SHA-256. Hash it first, in lower-case hex.",
		write: (parts) => lines({ ...parts, digest: parts.body }).join("\n"),
	},
	{
		cause: "form-body-alone",
		text: `The body alone was signed. ${FIVE_LINES}`,
		write: ({ body }) => body,
	},
	{
		cause: "form-timestamp-and-body",
		text: `Timestamp and body were signed, as another service asks for it. ${FIVE_LINES}`,
		write: ({ timestamp, body }) => `${timestamp}.${body}`,
	},
];

export function formCandidates(body: string): SignedForm[] {
	const withBody = body.length <= MAX_SIGNED_BODY_LENGTH ? FORMS_WITH_BODY : [];
	return [RIGHT_FORM, ...MISTAKEN_FORMS, ...withBody];
}
