// The page "Check a signature" compares a pasted request with the text that has to be signed. If the request
// is a callback that we have a record of, it is compared with that record. Otherwise the usual mistakes are
// tried. No secret is returned, and nothing is stored.

import type { SentRequest } from "../domain/callback-request.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { type OpeningKeys, openSecret } from "../domain/sealing.ts";
import {
	headerNames,
	judgeTimestamp,
	signatureMatches,
	signingKey,
	TIMESTAMP_TOLERANCE_SECONDS,
	type TimestampVerdict,
} from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { NetworkCache } from "../store/network-cache.ts";
import { listUrls, type ReceiverColumns } from "../store/queries/receivers.ts";
import { findUsableSecrets, listEndedSecrets, stateOf } from "../store/queries/signing-secrets.ts";
import type { Store } from "../store/store.ts";
import { type Difference, firstDifference } from "./difference.ts";
import { explain } from "./mistakes.ts";
import { canonicalOf, type PastedRequest, type ReadRequest, readPasted } from "./pasted-request.ts";

/** Maximum number of valid secrets that are tried. It applies to ended secrets and to Postback URLs, too. */
const MAX_TRIED = 4;

export interface CheckedSignature {
	isGood: boolean;
	conclusion: string;
	advice: string;
	difference: Difference | null;
	/** The text that has to be signed, or null if it is unknown because a header is missing. */
	canonical: string | null;
}

export interface SignatureCheckDeps {
	store: Store;
	clock: Clock;
	keyRing: OpeningKeys;
	network: Pick<NetworkCache, "face">;
	publicUrl: string;
}

/**
 * Checks a pasted request. `sent` is our record of the callback, if there is one. `pause` is called after each
 * mistake that was tried, and lets other work run.
 */
export async function checkSignature(
	deps: SignatureCheckDeps,
	receiver: Pick<ReceiverColumns, "receiver_id">,
	pasted: PastedRequest,
	sent: SentRequest | null = null,
	pause = () => deps.clock.yieldLoop(),
): Promise<CheckedSignature> {
	const names = headerNames(deps.network.face.brand);
	const request = readPasted(pasted, names);
	const record = sent === null ? null : readPasted(pasteSent(sent), names);
	const canonical = canonicalOf(record ?? request);
	const difference = record === null ? null : firstDifference(["We sent", record], ["You pasted", request]);
	if (difference !== null) {
		const conclusion = `This is not the callback as we sent it. The first difference is in the ${difference.part}.`;
		return { isGood: false, conclusion, advice: UNCHANGED, difference, canonical };
	}
	const missing = (["timestamp", "nonce", "signature"] as const).filter((name) => request[name] === "");
	if (missing.length > 0) {
		const conclusion = `These headers are missing: ${missing.map((name) => names[name]).join(", ")}.`;
		const advice = "Paste each header on its own line, as Name: value.";
		return { isGood: false, conclusion, advice, difference: null, canonical: null };
	}
	return { ...(await judgeSignature(deps, receiver, request, pause)), canonical };
}

const UNCHANGED =
	"Check the request as it reached your first server, before a proxy or a framework changes it, and hash the raw bytes of the body.";
const COMPARE =
	"Compare the text below, line by line, with the text that your code signs, and the last characters of your secret with those under Keys and snippets.";

async function judgeSignature(
	deps: SignatureCheckDeps,
	receiver: Pick<ReceiverColumns, "receiver_id">,
	request: ReadRequest,
	pause: () => Promise<void>,
): Promise<Omit<CheckedSignature, "canonical">> {
	const isCallback = request.event !== "" || (request.apiKey === "" && !request.target.startsWith("/v1/"));
	const nowMs = deps.clock.nowMs();
	const secrets = await readSecrets(deps, receiver.receiver_id, nowMs);
	// A callback may be old and signed with a secret that has ended since. A request to us must be signed with
	// a secret that has not ended.
	const allowed = secrets.filter(({ state }) => isCallback || state !== "ended");
	const canonical = canonicalOf(request);
	const signature = request.signature.toLowerCase();
	const match = allowed.find(({ text }) => signatureMatches(signingKey(text), canonical, signature));
	if (match !== undefined) {
		const conclusion = `The signature is right. It was made with the ${match.state} secret …${match.hint}.`;
		if (isCallback) return { isGood: true, conclusion, advice: IF_REFUSED, difference: null };
		const verdict = judgeTimestamp(request.timestamp, nowMs);
		// A stale timestamp may only mean that an old request was pasted. A timestamp in the future is always a
		// mistake.
		const isPast = verdict === "stale" && Number(request.timestamp) * SECOND_MS < nowMs;
		const isGood = verdict === "fresh" || isPast;
		return { isGood, conclusion, advice: CLOCK_ADVICE[verdict], difference: null };
	}
	const urls = isCallback ? await listUrls(deps.store.db, receiver.receiver_id, MAX_TRIED) : [];
	const { origin } = new URL(urls[0] ?? deps.publicUrl);
	const explanation = await explain(request, {
		secrets: allowed.map(({ text }) => text),
		wrongKeys: [
			...secrets.map(({ text, hint }) => ({
				key: text,
				detail: `It was the secret …${hint}, which has ended.`,
			})),
			...UNSET.map((key) => ({
				key,
				detail: `It was "${key}", so the variable with the secret is not set.`,
			})),
			{ key: request.apiKey, detail: "It was the API key." },
		],
		targets: [origin + request.target, ...urls.map((url) => url.slice(new URL(url).origin.length))],
		pause,
	});
	if (explanation === null) {
		const conclusion = "None of the ten usual mistakes explains this signature.";
		return {
			isGood: false,
			conclusion,
			advice: secrets.length === 0 ? NO_SECRET : COMPARE,
			difference: null,
		};
	}
	const { mistake, detail, signed } = explanation;
	const difference = firstDifference(["Signed", signed], ["To be signed", { ...request, text: canonical }]);
	return { isGood: false, conclusion: `${mistake.name}. ${detail}`.trim(), advice: mistake.cure, difference };
}

const NO_SECRET = "This programme has no signing secret yet. It comes with the first API key, so issue one.";
const IF_REFUSED =
	"If your server refuses this callback, paste it again with the signature that your code computes in place of ours, and compare your server's clock.";
const CLOCK_ADVICE: Readonly<Record<TimestampVerdict, string>> = {
	fresh: "We accept this request, unless its nonce was used before.",
	stale: `But its timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS} seconds away from our clock. If it was sent just now, correct the sender's clock, and send Unix time in seconds, which has ten digits.`,
	malformed: "But its timestamp is not Unix time in seconds: ten digits and nothing else.",
};
/** Texts that programs use as the secret if the variable for it is not set. */
const UNSET = ["", "undefined", "null", "None"];

async function readSecrets({ store, keyRing }: SignatureCheckDeps, receiverId: ReceiverId, nowMs: number) {
	const stored = [
		...(await findUsableSecrets(store.db, [receiverId], nowMs)).slice(0, MAX_TRIED),
		...(await listEndedSecrets(store.db, receiverId, nowMs, MAX_TRIED)),
	];
	return stored.flatMap((secret) => {
		const text = openSecret(keyRing, receiverId, secret.sealed);
		return text === null ? [] : [{ text, hint: secret.hint, state: stateOf(secret, nowMs) }];
	});
}

/** Returns our record of a callback in the form in which people paste requests. */
export function pasteSent({ method, url, headers, body }: SentRequest): PastedRequest {
	const { pathname, search } = new URL(url);
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return { method, target: pathname + search, headers: lines.join("\n"), body };
}
