// Where a lane's requests go: the URL saved now and the secret of now, turned once into what every request
// needs (the signed target, the key object).

import type { KeyObject } from "node:crypto";
import { parsePostbackUrl } from "../domain/postback-url.ts";
import { openSecret } from "../domain/sealing.ts";
import { signingKey } from "../domain/signature.ts";
import type { Log } from "../ports.ts";
import type { CallbackTarget } from "../store/queue.ts";
import type { Lane, LaneTarget } from "./lanes.ts";

/** More than one process will have busy at once; when full, everything is simply made anew. */
const MAX_KEPT = 10_000;

export type ApplyTarget = (lane: Lane, target: CallbackTarget) => void;

export function createTargetReader(sealingKey: Uint8Array, log: Log): ApplyTarget {
	const kept = new Map<number, { endpointId: number; secretId: number; target: LaneTarget }>();
	return (lane, found) => {
		lane.endpointEpoch = found.endpointEpoch;
		lane.isFailing = found.isFailing;
		const { programmeId, endpointId, url, secretId, sealedSecret } = found;
		if (endpointId === null || url === null || secretId === null || sealedSecret === null) {
			lane.target = null;
			return;
		}
		const known = kept.get(programmeId);
		if (known?.endpointId === endpointId && known.secretId === secretId) {
			lane.target = known.target;
			return;
		}
		const key = openKey(sealingKey, log, programmeId, sealedSecret);
		const parsed = parsePostbackUrl(url);
		if (key === null) {
			lane.target = null;
			return;
		}
		// Kept as a target although nothing can be sent there: the transport refuses it, so that its deliveries
		// come to an end and the owner is told, instead of waiting for ever.
		if (!parsed.ok)
			log.warn({ programmeId, code: parsed.fault.code }, "a saved Postback URL is not valid any more");
		lane.target = { url, target: parsed.ok ? parsed.value.target : "", endpointId, key };
		if (kept.size >= MAX_KEPT) kept.clear();
		kept.set(programmeId, { endpointId, secretId, target: lane.target });
	};
}

function openKey(sealingKey: Uint8Array, log: Log, programmeId: number, sealed: string): KeyObject | null {
	const secret = openSecret(sealingKey, programmeId, sealed);
	if (secret !== null) return signingKey(secret);
	// Sealed under another key. Its deliveries wait; they are not lost when the right key comes back.
	log.error(
		{ programmeId },
		"a signing secret cannot be opened with this RINGBACK_SECRET_KEY; its callbacks wait until it can",
	);
	return null;
}
