// "Check a signature" for a programme. A callback of ours is looked up among our attempts and compared with what we sent,
// byte for byte; everything else is explained by one mistake, or honestly not at all. No secret leaves this function, and
// nothing is stored.

import { groupDigits } from "../domain/bytes.ts";
import { rebuildRequest } from "../domain/sent-request.ts";
import { headerNames, judgeTimestamp, TIMESTAMP_TOLERANCE_SECONDS } from "../domain/signature.ts";
import type { Clock } from "../ports.ts";
import { findSentAttempts, MAX_DELIVERIES_LOOKED_AT } from "../store/queries/delivery-list.ts";
import type { KnownNetwork } from "../store/queries/known-network.ts";
import { listUrls, type Programme } from "../store/queries/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import {
	canonicalOf,
	compareParts,
	type Explanation,
	explain,
	type Finding,
	finding,
	hexOf,
} from "./causes.ts";
import {
	type Direction,
	directionOf,
	type PastedRequest,
	readPasted,
	type SeenRequest,
	type SignedParts,
} from "./pasted-request.ts";
import { keysToTry, readSecrets } from "./secrets.ts";

/** The present one and those before it. */
const MAX_URLS_TRIED = 5;

export interface SignatureQuestion {
	pasted: PastedRequest;
	/** To check with in place of the programme's own; empty for those. */
	secret: string;
	/** What the shop's own code computed for a callback; empty when nobody says. */
	computed: string;
}

/** A callback of ours, put together again as it went out. */
interface SentCallback {
	parts: SignedParts;
	attempt: { deliveryId: string; seq: number; event: string; startedAtMs: number };
}

export interface CheckedSignature {
	direction: Direction;
	isGood: boolean;
	conclusion: string;
	findings: readonly Finding[];
	/** What the shop's own computation did differently; null when nobody asked. */
	computed: readonly Finding[] | null;
	/** What has to be signed, or null while a header is missing. */
	canonical: string | null;
	/** The attempt that it was compared with. */
	sent: Pick<SentCallback, "attempt"> | null;
}

export interface SignatureCheckDeps {
	store: Store;
	clock: Clock;
	/** Opens the programme's secrets. */
	sealingKey: Uint8Array;
	network: Pick<KnownNetwork, "face">;
	publicUrl: string;
}

export async function checkSignature(
	{ store, clock, sealingKey, network, publicUrl }: SignatureCheckDeps,
	programme: Programme,
	{ pasted, secret, computed }: SignatureQuestion,
	giveWay = () => clock.yieldLoop(),
): Promise<CheckedSignature> {
	const nowMs = clock.nowMs();
	const { brand } = network.face;
	const names = headerNames(brand);
	const seen = readPasted(pasted, names);
	const urls = (await listUrls(store.db, programme.id, MAX_URLS_TRIED)).map((url) => new URL(url));
	const callbackTargets = urls.map(({ pathname, search }) => pathname + search);
	const direction = directionOf(seen, callbackTargets);
	const isOurs = direction === "callback";
	const sent = isOurs ? await lookUpCallback(store.db, programme.id, seen, brand) : null;
	const missing = (["timestamp", "nonce", "signature"] as const).filter((name) => seen[name] === "");
	if (sent === null && missing.length > 0) {
		const conclusion = `Paste each header on a line of its own, as Name: value. Missing: ${missing.map((name) => names[name]).join(", ")}.`;
		return { direction, isGood: false, conclusion, findings: [], computed: null, canonical: null, sent };
	}

	const own = await readSecrets(store.db, sealingKey, programme.id, nowMs);
	const apiKey = /^Bearer +(\S+)$/i.exec(seen.authorization)?.[1] ?? null;
	const atMs = sent?.attempt.startedAtMs ?? signedAtMs(seen, nowMs);
	const keys = keysToTry(own, secret.trim(), apiKey, { direction, atMs, nowMs });
	const base = isOurs ? (urls[0] ?? new URL(publicUrl)) : new URL(publicUrl);
	const underBase = `${base.pathname.replace(/\/$/, "")}${seen.target}`;
	const targets = [base.origin + seen.target, ...(isOurs ? callbackTargets : [underBase])];
	const ask: Ask = (parts) => explain(parts, keys, targets, giveWay);

	const { found, tries } = await ask(sent?.parts ?? seen);
	const findings =
		sent !== null
			? compareWith(sent.parts, found, seen, direction)
			: found !== null
				? compareWith(found.parts, found, seen, direction)
				: unexplained(
						seen,
						direction,
						keys.some(({ isRight }) => isRight),
					);
	const judged = findings.map((one) =>
		!isOurs && one.part === "timestamp" && one.verdict === "good" ? judgeClock(seen.timestamp, nowMs) : one,
	);
	const ofComputed = isOurs ? await explainComputed(computed, seen, sent, ask) : null;
	return {
		direction,
		...conclude(judged, direction, { sent, tries, isComputedJudged: ofComputed !== null }),
		findings: judged,
		computed: ofComputed,
		canonical: canonicalOf(sent?.parts ?? seen),
		sent,
	};
}

async function lookUpCallback(
	db: Db,
	programmeId: number,
	seen: SeenRequest,
	brand: string,
): Promise<SentCallback | null> {
	const [nonce, signature] = [seen.nonce.toLowerCase(), hexOf(seen.signature) ?? ""];
	const hits = await findSentAttempts(db, programmeId, { ...namesIn(seen.body), nonce, signature });
	// The signature is of one request alone; a nonce may have been mixed up with another's.
	const attempt = hits.find((hit) => hit.signature === signature) ?? hits[0];
	const sent = attempt === undefined ? null : rebuildRequest(attempt, attempt, brand);
	if (attempt === undefined || sent === null) return null;
	const { deliveryId, seq, event, started_at_ms: startedAtMs } = attempt;
	const names = headerNames(brand);
	const header = (name: string) => sent.headers.find(([one]) => one === name)?.[1] ?? "";
	const { pathname, search } = new URL(sent.url);
	return {
		parts: {
			method: "POST",
			target: pathname + search,
			timestamp: header(names.timestamp),
			nonce: header(names.nonce),
			body: sent.body,
			signature: header(names.signature),
		},
		attempt: { deliveryId, seq, event, startedAtMs },
	};
}

/** What the body says it is about, also where it is not valid JSON any more. A callback has 600 bytes. */
function namesIn(body: string): { conversionId: string; orderId: string } {
	const start = body.slice(0, 4_096);
	return {
		conversionId: /\bcnv_[0-9A-HJKMNP-TV-Z]{26}\b/.exec(start)?.[0] ?? "",
		orderId: /"orderId"\s*:\s*"([^"\\]{1,128})"/.exec(start)?.[1] ?? "",
	};
}

type Ask = (parts: SignedParts) => ReturnType<typeof explain>;

function compareWith(
	signed: SignedParts,
	found: Explanation | null,
	seen: SeenRequest,
	direction: Direction,
): Finding[] {
	const atEnd = "There was a line break behind the last part. Put one between the five parts only.";
	const forgotten = finding("secret", "unknown", "The secret that it was signed with is not kept any more.");
	return [
		...compareParts(signed, seen, direction),
		...(found?.hasLineBreakAtEnd === true ? [finding("signed text", "bad", atEnd, "line-break")] : []),
		found === null ? forgotten : finding("secret", found.key.verdict, found.key.text, found.key.cause),
	];
}

/** What to say where no attempt has the nonce or the signature. */
const LOOKED_AT = `None of our attempts for the conversion or order in the body, and none of this programme's last ${groupDigits(MAX_DELIVERIES_LOOKED_AT)} callbacks, has this nonce or this signature.`;

/** Says no more than is known: a secret is suspected only when the signature itself could be one. */
function unexplained(seen: SeenRequest, direction: Direction, hasSecret: boolean): Finding[] {
	const isOurs = direction === "callback";
	const first = isOurs ? finding("nonce", "warn", LOOKED_AT) : finding("timestamp", "good", "As pasted.");
	if (hexOf(seen.signature) === null) {
		return [first, finding("signature", "bad", "It must be 64 hex digits and nothing else.", "malformed")];
	}
	if (!hasSecret) {
		const text = "This programme has no signing secret yet. It comes with the first API key: issue one.";
		return [first, finding("secret", "bad", text, "unset-secret")];
	}
	const cure = isOurs
		? "Check that this callback is one of this programme, and paste it exactly as your server received it."
		: "Compare the last characters of your code's secret with those under Keys and snippets. The inbound log shows the method, path and body digest that reached us.";
	return [
		first,
		finding("secret", "unknown", `None of your secrets produces this signature. ${cure}`, UNKNOWN),
	];
}

const UNKNOWN = "unknown";

/** Nothing comes from the future; what is old may simply have been pasted later. */
function judgeClock(timestamp: string, nowMs: number): Finding {
	const verdict = judgeTimestamp(timestamp, nowMs);
	const rule = `We accept a request within ${TIMESTAMP_TOLERANCE_SECONDS} seconds of our clock.`;
	if (verdict === "fresh") return finding("timestamp", "good", rule);
	if (verdict === "malformed" || timestamp.length > 12) {
		const cause = verdict === "malformed" ? verdict : "milliseconds";
		return finding("timestamp", "bad", "Send and sign Unix time in seconds: digits only.", cause);
	}
	const ahead = Number(timestamp) - Math.floor(nowMs / 1000);
	const off = ahead > 0 ? `${ahead} seconds ahead` : `${-ahead} seconds behind. If you sent it just now`;
	const text = `${rule} This is ${off}: the sender's clock is wrong. Set it by a time server.`;
	return finding("timestamp", ahead > 0 ? "bad" : "warn", text, "stale-clock");
}

/** What the shop's own code made of the callback that it received; also where its value was pasted in place of ours. */
async function explainComputed(
	computed: string,
	seen: SeenRequest,
	sent: SentCallback | null,
	ask: Ask,
): Promise<Finding[] | null> {
	const isForeign = sent !== null && hexOf(seen.signature) !== sent.parts.signature;
	const given = computed.trim() || (isForeign ? seen.signature : "");
	if (given === "") return null;
	const asComputed = { ...seen, signature: given };
	const { found } = await ask(asComputed);
	if (found === null) {
		const text =
			"We do not know what your code signed: none of your secrets produces this value. Compare the last characters of your server's secret with those under Keys and snippets, then the text below with the one your code signs.";
		return [finding("secret", "unknown", text, UNKNOWN)];
	}
	const all = compareWith(found.parts, found, asComputed, "request");
	const notes = all.filter(({ verdict }) => verdict !== "good");
	if (notes.some(({ verdict }) => verdict === "bad")) return notes;
	const right = "Your code computes the right signature for what it received.";
	return [finding("signature", "good", right), ...notes];
}

function conclude(
	findings: readonly Finding[],
	direction: Direction,
	about: { sent: SentCallback | null; tries: number; isComputedJudged: boolean },
): { isGood: boolean; conclusion: string } {
	const wrong = findings.filter(({ verdict }) => verdict === "bad").map(({ part }) => part);
	const bad = (conclusion: string) => ({ isGood: false, conclusion });
	const good = (conclusion: string) => ({ isGood: true, conclusion: `The signature is right${conclusion}` });
	if (findings.some(({ cause }) => cause === UNKNOWN)) {
		const also = wrong.length === 0 ? "" : ` Wrong in any case: ${wrong.join(", ")}.`;
		return bad(
			`We do not know what is wrong: none of the ${about.tries} usual mistakes that we tried explains this signature.${also} Compare the text below with the one your code signs.`,
		);
	}
	if (wrong.length > 0) return bad(`This request would be refused. What differs: ${wrong.join(", ")}.`);
	if (direction === "request") return good(": we accept this request, unless its nonce was used before.");
	const what = about.sent === null ? " for what you pasted." : ": this is exactly what we sent.";
	const next = about.isComputedJudged ? "What your own code made of it is below." : IF_REFUSED;
	return good(`${what} ${next}`);
}

const IF_REFUSED =
	"If your server refuses it, compare its clock, then the last characters of its secret with those under Keys and snippets, then the text below with the one your code signs.";

/** As its timestamp says, to the end of that second, if that can be; otherwise now. */
function signedAtMs({ timestamp }: SeenRequest, nowMs: number): number {
	const seconds = /^\d{10}/.exec(timestamp)?.[0];
	return seconds === undefined ? nowMs : Math.min(Number(seconds) * 1000 + 999, nowMs);
}
