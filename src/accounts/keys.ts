// API keys. The first key of a programme brings its signing secret (contract section 5); both are shown once, and
// of a key only its hash is kept.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import { noteAudit } from "../store/audit.ts";
import { countUsableKeys, insertApiKey, revokeApiKey } from "../store/keys.ts";
import { findActiveSecret } from "../store/signing-secrets.ts";
import type { AccountsDeps } from "./deps.ts";
import { changeLocked } from "./programmes.ts";
import { makeSecret } from "./signing-secret.ts";

/** 256 bits: nobody guesses one, so a plain hash is enough. */
const KEY_BYTES = 32;
const HINT_LENGTH = 4;
/** One for each of a shop's systems is plenty; the page shows them all, each with its button. */
export const MAX_USABLE_KEYS = 50;

export interface IssuedKey {
	keyId: string;
	key: string;
	/** Only with the programme's first key. */
	secret: string | null;
}

/** `personId`: whoever pressed the button; null for the command line. */
export async function issueKey(
	deps: AccountsDeps,
	programmePublicId: string,
	personId: number | null = null,
): Promise<Result<IssuedKey>> {
	return changeLocked(deps, programmePublicId, async ({ trx, programmeId, nowMs }) => {
		if ((await countUsableKeys(trx, programmeId)) >= MAX_USABLE_KEYS) {
			return refuse(
				"too_many_keys",
				`There are ${MAX_USABLE_KEYS} keys in use, and no programme has more. Revoke one that is not needed any more, then issue the new one.`,
			);
		}
		const key = `rbk_${deps.random.hex(KEY_BYTES)}`;
		const hint = key.slice(-HINT_LENGTH);
		const keyId = makeId("key", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
		await insertApiKey(trx, {
			public_id: keyId,
			programme_id: programmeId,
			hash: sha256Hex(key),
			hint,
			created_at_ms: nowMs,
		});
		const note = { personId, programmeId, action: "key.issued", subject: keyId } as const;
		await noteAudit(trx, { ...note, detail: showHint(hint) }, nowMs);
		const isFirst = (await findActiveSecret(trx, programmeId)) === undefined;
		const made = isFirst ? await makeSecret(trx, deps, programmeId, nowMs, nowMs) : null;
		return succeed({ keyId, key, secret: made?.secret ?? null });
	});
}

/** Of this programme's keys only: another shop's id is as unknown here as one that never was. */
export async function revokeKey(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	keyId: string,
	personId: number | null = null,
): Promise<Result<true>> {
	return changeLocked(deps, programmePublicId, async ({ trx, programmeId, nowMs }) => {
		const revoked = await revokeApiKey(trx, programmeId, keyId, nowMs);
		if (revoked === undefined) {
			const notUsable = `There is no usable key ${keyId}: check the id, or it was revoked before.`;
			return refuse("unknown_key", notUsable);
		}
		const note = { personId, programmeId, action: "key.revoked", subject: keyId } as const;
		await noteAudit(trx, { ...note, detail: showHint(revoked.hint) }, nowMs);
		return succeed(true);
	});
}

/** As the page shows it. */
function showHint(hint: string): string {
	return `rbk_…${hint}`;
}
