// Issues API keys for many programmes in one call, for a network that moves here with its shops. By default only
// programmes without a usable key get a key, so repeating a call does nothing for programmes that have one. All keys
// of a call are issued in one transaction, because keys are shown only once and none may be stored that nobody has
// seen.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { countUsableKeys } from "../store/queries/keys.ts";
import { listKeylessProgrammes, lockProgramme, type Programme } from "../store/queries/programmes.ts";
import { chooseRight, type IssuedKey, insertKey } from "./keys.ts";

/** Maximum number of programmes in one call. Their transaction takes a second or two. */
export const MAX_MANY_KEYS = 500;

export interface ManyKeysInput {
	/** Ids of the programmes, or null for all programmes without a usable key. */
	programmeIds: readonly number[] | null;
	/** Right of the keys, or empty for the default right of the actor. */
	right: string;
}

export interface ProgrammeKey extends IssuedKey {
	programmeName: string;
	programmePublicId: string;
}

export interface ManyKeys {
	issued: readonly ProgrammeKey[];
	/** Number of named programmes that got no key, because they already have a usable key. */
	skipped: number;
	/** True if programmes without a key remain, because one call issues only a limited number of keys. */
	hasMore: boolean;
}

export async function issueManyKeys(
	deps: AccountsDeps,
	actor: Actor,
	{ programmeIds, right }: ManyKeysInput,
): Promise<Result<ManyKeys>> {
	if (programmeIds !== null && programmeIds.length > MAX_MANY_KEYS) {
		const detail = `Name at most ${MAX_MANY_KEYS} programmes at once. Issue the keys in parts.`;
		return refuse("too_many_rows", detail, "programmes");
	}
	const changed: Programme[] = [];
	const done = await transactAs<ManyKeys>(deps.store, actor, STAFF, async (trx) => {
		const authority = actor.kind === "command line" ? actor.kind : "staff";
		const chosen = chooseRight(authority, right);
		if (!chosen.ok) return chosen;
		const found = programmeIds ?? (await listKeylessProgrammes(trx, MAX_MANY_KEYS + 1));
		const issued: ProgrammeKey[] = [];
		let skipped = 0;
		// Programmes are locked in the order of their ids, so that two calls cannot deadlock.
		for (const id of found.slice(0, MAX_MANY_KEYS).toSorted((one, other) => one - other)) {
			const programme = await lockProgramme(trx, id);
			if (programme === undefined) continue;
			if ((await countUsableKeys(trx, id)) > 0) {
				skipped += 1;
				continue;
			}
			const change = { trx, programme, personId: personIdOf(actor), authority } as const;
			const key = await insertKey(deps, { ...change, nowMs: deps.clock.nowMs() }, null, right);
			if (!key.ok) return key;
			issued.push({ ...key.value, programmeName: programme.name, programmePublicId: programme.public_id });
			changed.push(programme);
		}
		return succeed({ issued, skipped, hasMore: found.length > MAX_MANY_KEYS });
	});
	if (done.ok) {
		for (const { id, receiver_id } of changed) {
			deps.store.announceChange(id);
			deps.store.announceTargetChange(receiver_id);
		}
	}
	return done;
}

/** Columns of the file with the keys. The cell for the secret is empty if the programme had a secret before. */
export const KEY_FILE_COLUMNS: readonly (readonly [name: string, cell: (key: ProgrammeKey) => string])[] = [
	["programme", ({ programmeName }) => programmeName],
	["programme_id", ({ programmePublicId }) => programmePublicId],
	["key_id", ({ keyId }) => keyId],
	["right", ({ right }) => right],
	["api_key", ({ key }) => key],
	["signing_secret", ({ secret }) => secret ?? ""],
];
