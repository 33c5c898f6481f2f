// Explains request signing in the OpenAPI document, and defines the example order that all examples use, from its sale
// to its return. The example requests are signed, so that the author of a client can compare them byte by byte.

import type { TokenRight } from "../../domain/api-token.ts";
import type { Reason, Status } from "../../domain/conversion.ts";
import { bodySentAt, composeEvent } from "../../domain/event.ts";
import type { EventName } from "../../domain/event-name.ts";
import {
	canonicalString,
	headerNames,
	sha256Hex,
	sign,
	signingKey,
	TIMESTAMP_TOLERANCE_SECONDS,
} from "../../domain/signature.ts";
import { DAY_MS, isoTime } from "../../domain/time.ts";
import { type ConversionBody, EXAMPLE_CONVERSION } from "../answers.ts";
import type { CodeSample, SecurityScheme } from "./specification.ts";

export interface Instance {
	brand: string;
	name?: string | null;
	publicUrl: string;
}

/** Placeholder credentials for the documentation. They give access to nothing. */
const EXAMPLE_KEY = "rbk_example";
export const EXAMPLE_SECRET = "rbs_example";
export const EXAMPLE_NONCE = "93d7ed751b4e096b2ab6fad00798af7d";

/** Placeholder tokens for the documentation, by their right. */
const EXAMPLE_TOKENS: Readonly<Record<TokenRight, string>> = {
	read: "rbn_example",
	manage: "rbn_example",
	partner: "rbp_example",
};

export function securitySchemes(brand: string): Record<string, SecurityScheme> {
	const names = headerNames(brand);
	const header = (name: string, description: string) =>
		({ type: "apiKey", in: "header", name, description }) as const;
	return {
		apiKey: {
			type: "http",
			scheme: "bearer",
			description: "The programme's API key, from its Integration page. It identifies the programme.",
		},
		apiToken: {
			type: "http",
			scheme: "bearer",
			description: "An API token of the network or of a partner. It is shown once, when it is issued.",
		},
		timestamp: header(
			names.timestamp,
			`Unix time in seconds, digits only, at most ${TIMESTAMP_TOLERANCE_SECONDS} seconds away from the receiver's clock.`,
		),
		nonce: header(
			names.nonce,
			"A new value for every request: 8 to 128 letters, digits, `-` or `_`, preferably 32 random hex digits. Each value is accepted once.",
		),
		signature: header(
			names.signature,
			"Hex HMAC-SHA256 of the canonical string, with the programme's signing secret as the key.",
		),
	};
}

/** Returns the introduction of the document, with one worked example. */
export function explainSigning(instance: Instance): string {
	const names = headerNames(instance.brand);
	const { canonical, signature } = signExample("POST", "/v1/approvals", EXAMPLE_APPROVAL);
	return `Every request of a shop to \`/v1/\` carries the programme's API key and three headers that sign it. The callbacks are signed the same way, with the same secret.

The canonical string is five parts, joined by single line feeds:

1. the method in capitals
2. the path with its query, exactly as it is sent
3. the value of \`${names.timestamp}\`
4. the value of \`${names.nonce}\`
5. the lower-case hex SHA-256 of the body bytes (for GET, of zero bytes)

\`${names.signature}\` is the hex HMAC-SHA256 of that string, with the signing secret as the key. Sign and send the same bytes, because a body that is serialised again may have another digest.

With the secret \`${EXAMPLE_SECRET}\`, the body \`${EXAMPLE_APPROVAL}\` and this canonical string:

\`\`\`
${canonical}
\`\`\`

the signature is \`${signature}\`. The example requests below are signed with the same secret, so that you can compare your own step by step.

Requests may be signed with a prepared secret at once. After it was activated in place of another one, requests may be signed with the old secret for 24 more hours, unless it is ended before.`;
}

const EXAMPLE_APPROVAL = '{"orderId":"ORDER-1001"}';

/** An example request. `target` is the path with its query. */
interface SampleRequest {
	method: string;
	target: string;
	body: object | undefined;
}

/** Returns a complete signed request as a curl command. */
export function signedSampleRequest(
	{ brand, publicUrl }: Instance,
	{ method, target, body }: SampleRequest,
): CodeSample {
	const names = headerNames(brand);
	const { timestamp, signature } = signExample(
		method,
		target,
		body === undefined ? "" : JSON.stringify(body),
	);
	const source = writeCurl([
		`curl '${publicUrl}${target}'`,
		`-H 'Authorization: Bearer ${EXAMPLE_KEY}'`,
		`-H '${names.timestamp}: ${timestamp}'`,
		`-H '${names.nonce}: ${EXAMPLE_NONCE}'`,
		`-H '${names.signature}: ${signature}'`,
		...bodyOptions(body),
	]);
	return { lang: "Shell", label: "curl", source };
}

/** Returns a complete request with a token as a curl command. */
export function sampleTokenRequest(
	{ publicUrl }: Instance,
	{ method, target, body }: SampleRequest,
	right: TokenRight,
): CodeSample {
	const source = writeCurl([
		`curl ${method === "GET" ? "" : `-X ${method} `}'${publicUrl}${target}'`,
		`-H 'Authorization: Bearer ${EXAMPLE_TOKENS[right]}'`,
		...bodyOptions(body),
	]);
	return { lang: "Shell", label: "curl with a token", source };
}

function bodyOptions(body: object | undefined): string[] {
	return body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`];
}

function writeCurl(lines: readonly string[]): string {
	return lines.join(" \\\n  ");
}

export function signExample(
	method: string,
	target: string,
	body: string,
	nowMs = EXAMPLE_NOW_MS,
): { canonical: string; timestamp: string; signature: string } {
	const timestamp = String(Math.floor(nowMs / 1_000));
	const canonical = canonicalString(method, target, timestamp, EXAMPLE_NONCE, sha256Hex(body));
	return { canonical, timestamp, signature: sign(signingKey(EXAMPLE_SECRET), canonical) };
}

/** Time at which every example request is signed. */
const EXAMPLE_NOW_MS = Date.parse(EXAMPLE_CONVERSION.createdAt);
const APPROVAL_DAYS = 30;

interface ExampleState {
	status: Status;
	reason: Reason | null;
	/** Number of days between the sale and the event. */
	day: number;
}

/** Status and reason of the example order after each event. */
export const STATE_BY_EVENT: Readonly<Record<EventName, ExampleState>> = {
	"conversion.recorded": { status: "RECORDED", reason: null, day: 0 },
	"conversion.approved": { status: "APPROVED", reason: null, day: APPROVAL_DAYS },
	"conversion.rejected": { status: "REJECTED", reason: "CANCELLED", day: 2 },
	"conversion.reversed": { status: "REVERSED", reason: "RETURN", day: APPROVAL_DAYS + 4 },
};

/** Returns the conversion as the API shows it after the event. */
export function exampleConversion(event: EventName): ConversionBody {
	if (event === "conversion.recorded") return EXAMPLE_CONVERSION;
	const { status, reason, day } = STATE_BY_EVENT[event];
	return {
		...EXAMPLE_CONVERSION,
		status,
		reason,
		decidedBy: "shop",
		updatedAt: isoTime(EXAMPLE_NOW_MS + day * DAY_MS),
		approvesAt: null,
	};
}

/** Returns the body of a callback, made by the same code that makes the real ones. */
export function exampleCallback(event: EventName): string {
	const { id: conversionId, occurredAt, ...fields } = exampleConversion(event);
	const composed = composeEvent({ conversionId, ...fields, occurredAtMs: Date.parse(occurredAt) });
	return bodySentAt(event, composed, exampleSentAtMs(event));
}

export function exampleSentAtMs(event: EventName): number {
	return EXAMPLE_NOW_MS + STATE_BY_EVENT[event].day * DAY_MS + 40;
}
