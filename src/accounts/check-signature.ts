// "Check a signature" for a programme: with a secret that somebody pastes, or with the programme's own. A callback is
// looked for among our own attempts. No secret leaves this function, and nothing is stored.

import { directionOf, type PastedRequest, readPasted } from "../domain/pasted-request.ts";
import { digestIn, type ReceivedRequest } from "../domain/refused-signature.ts";
import { headerNames, TIMESTAMP_TOLERANCE_SECONDS } from "../domain/signature.ts";
import { type Diagnosis, diagnoseSignature } from "../domain/signature-diagnosis.ts";
import { headerOf } from "../domain/signed-parts.ts";
import { SECOND_MS } from "../domain/time.ts";
import { listBadSignatures } from "../store/inbound-calls.ts";
import { isNonceSpent } from "../store/keys.ts";
import type { KnownNetwork } from "../store/known-network.ts";
import { listUrls, type Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";
import { lookUpSent, type SentAttempt, signedAtMs } from "./look-up-sent.ts";
import { askAbout, readNamedSecrets } from "./named-secrets.ts";

/** The present one and those before it. */
const MAX_URLS_TRIED = 5;

/** Of the inbound log, the newest: some milliseconds. */
const MAX_CALLS_LOOKED_AT = 500;
/** Clocks differ, and a request may wait on its way. */
const SAME_TIME_MS = TIMESTAMP_TOLERANCE_SECONDS * SECOND_MS;

export interface SignatureQuestion {
	pasted: PastedRequest;
	/** To check with in place of the programme's own; empty for those. */
	secret: string;
	/** What the shop's own code computed; empty when nobody says. */
	computed: string;
}

export interface CheckedSignature extends Diagnosis {
	/** The attempt that it is, if we sent it. */
	attempt: SentAttempt | null;
}

export async function checkSignature(
	deps: Pick<AccountsDeps, "store" | "clock" | "sealingKey"> & {
		network: Pick<KnownNetwork, "face">;
		publicUrl: string;
	},
	programme: Programme,
	{ pasted, secret, computed }: SignatureQuestion,
): Promise<CheckedSignature> {
	const { store, clock } = deps;
	const nowMs = clock.nowMs();
	const { brand } = deps.network.face;
	const names = headerNames(brand);
	const seen = readPasted(pasted);
	const urls = (await listUrls(store.db, programme.id, MAX_URLS_TRIED)).map((url) => new URL(url));
	const callbackTargets = urls.map(({ pathname, search }) => pathname + search);
	const direction = directionOf(seen, names, callbackTargets);
	const { attempt, sent, composed, looked } = await lookUpSent(
		{ ...deps, brand },
		programme,
		seen,
		direction,
	);
	const atMs = attempt?.startedAtMs ?? signedAtMs(seen, names, nowMs);
	const own = await readNamedSecrets(deps, programme, atMs);
	const given = secret.trim();
	const diagnosis = diagnoseSignature(pasted, {
		names,
		secrets: given === "" ? own : askAbout(given, own),
		origins: [deps.publicUrl, ...urls.slice(0, 1).map(({ origin }) => origin)],
		callbackTargets,
		sent,
		composed,
		looked,
		received: direction === "request" ? await listReceived(store.db, programme.id, atMs) : [],
		isNonceSpent: await isNonceSpent(store.db, programme.id, headerOf(seen, names.nonce), nowMs),
		computed,
		nowMs,
	});
	return { ...diagnosis, attempt };
}

async function listReceived(db: Db, programmeId: number, atMs: number): Promise<ReceivedRequest[]> {
	const refused = await listBadSignatures(db, programmeId, MAX_CALLS_LOOKED_AT);
	return refused.flatMap(({ detail, ...call }) => {
		const digest = digestIn(detail);
		return digest === null || Math.abs(call.atMs - atMs) > SAME_TIME_MS ? [] : [{ ...call, digest }];
	});
}
