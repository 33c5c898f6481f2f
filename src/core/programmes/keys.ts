// API keys. The first key of a programme is issued together with its signing secret (contract section 5). Both are
// shown only once, and only the hash of a key is stored. People give their keys names to remember which of their
// systems uses which key.

import { writeKeyLabel } from "../domain/action.ts";
import { readName } from "../domain/display-name.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type Authority, type KeyRight, keyRightsOf } from "../domain/roles.ts";
import { sha256Hex } from "../domain/signature.ts";
import { type Actor, authorityOf } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { countKeys, countUsableKeys, insertApiKey, revokeApiKey } from "../store/queries/keys.ts";
import { findActiveSecret } from "../store/queries/signing-secrets.ts";
import { changeLocked, type ProgrammeChange } from "./programmes.ts";
import { makeSecret } from "./signing-secret.ts";

/** Length of a key. 256 random bits cannot be guessed, so a plain hash is enough for the stored form. */
const KEY_BYTES = 32;
const HINT_LENGTH = 4;
/**
 * Maximum number of valid keys of a programme. The page lists all of them, and a shop needs one for each of
 * its systems.
 */
export const MAX_USABLE_KEYS = 50;

export interface IssuedKey {
	keyId: string;
	name: string;
	key: string;
	right: KeyRight;
	/** Signing secret that was created with the programme's first key, or null for any later key. */
	secret: string | null;
}

/**
 * Issues a key. Without a name, the key gets a number. Without a right, it gets the default right of the
 * issuer.
 */
export async function issueKey(
	deps: AccountsDeps,
	programmePublicId: string,
	actor: Actor,
	{ name: nameText = "", right = "" }: { name?: string; right?: string } = {},
): Promise<Result<IssuedKey>> {
	const given = nameText.trim() === "" ? null : readName(nameText, "the key's");
	if (given?.ok === false) return given;
	return changeLocked(deps, programmePublicId, actor, async (change) => {
		const authority = await authorityOf(change.trx, actor, change.programme.id);
		return insertKey(deps, { ...change, authority }, given?.value ?? null, right);
	});
}

export async function insertKey(
	deps: AccountsDeps,
	{ trx, programme, personId, authority, nowMs }: ProgrammeChange & { authority: Authority },
	givenName: string | null,
	askedRight: string,
): Promise<Result<IssuedKey>> {
	const { id: programmeId } = programme;
	const chosen = chooseRight(authority, askedRight);
	if (!chosen.ok) return chosen;
	const right = chosen.value;
	if ((await countUsableKeys(trx, programmeId)) >= MAX_USABLE_KEYS) {
		return refuse(
			"too_many_keys",
			`There are ${MAX_USABLE_KEYS} keys in use, and no programme has more. Revoke one that is not needed any more, then issue the new one.`,
		);
	}
	const key = `rbk_${deps.random.hex(KEY_BYTES)}`;
	const hint = key.slice(-HINT_LENGTH);
	const keyId = makeId("key", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
	const name = givenName ?? `Key ${(await countKeys(trx, programmeId)) + 1}`;
	await insertApiKey(trx, {
		public_id: keyId,
		programme_id: programmeId,
		name,
		hash: sha256Hex(key),
		hint,
		created_at_ms: nowMs,
		key_right: right,
		issued_by: personId,
	});
	const entry = { personId, programmeId, action: "key.issued", subject: keyId } as const;
	await noteAudit(trx, { ...entry, detail: writeKeyLabel({ hint, name }) }, nowMs);
	const isFirst = (await findActiveSecret(trx, programme.receiver_id)) === undefined;
	const first = isFirst ? await makeSecret(trx, deps, programme, nowMs, nowMs) : null;
	return succeed({ keyId, name, key, right, secret: first?.secret ?? null });
}

/** Returns the right of a new key. Empty text means the default right of the issuer. */
export function chooseRight(authority: Authority, asked: string): Result<KeyRight> {
	const rights = keyRightsOf(authority);
	const right = asked === "" ? rights[0] : rights.find((granted) => granted === asked);
	if (right !== undefined) return succeed(right);
	if (asked !== "decide") return refuse("invalid_field", 'right must be "report" or "decide".', "right");
	return refuse("not_allowed", "Only an owner can issue a key that approves and rejects.", "right");
}

/**
 * Revokes a key of this programme. A key of another programme is refused in the same way as a key that does
 * not exist.
 */
export async function revokeKey(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	keyId: string,
	actor: Actor,
): Promise<Result<true>> {
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		const { id: programmeId } = programme;
		const revoked = await revokeApiKey(trx, programmeId, keyId, nowMs);
		if (revoked === undefined) return refusalOf("unknown_key", { id: keyId });
		const entry = { personId, programmeId, action: "key.revoked", subject: keyId } as const;
		await noteAudit(trx, { ...entry, detail: writeKeyLabel(revoked) }, nowMs);
		return succeed(true);
	});
}
