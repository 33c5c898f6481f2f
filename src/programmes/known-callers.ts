// Who may call: programmes by their API keys, with the secrets that their requests may be signed with, and by the public
// id that pixels name. Read once a second at most, however many calls come.

import type { AccountsDeps } from "../people/deps.ts";
import { type ApiKey, findApiKeysByHash } from "../store/queries/keys.ts";
import { findProgrammesById, findProgrammesByPublicId, type Programme } from "../store/queries/programmes.ts";
import { findUsableSecrets, type SigningSecret } from "../store/queries/signing-secrets.ts";
import { createKeptReadings } from "./kept-readings.ts";

export interface KnownKey {
	apiKey: ApiKey;
	programme: Programme;
	/** Usable when they were read; a replaced one may have come to its end since. */
	secrets: readonly SigningSecret[];
}

export interface KnownCallers {
	/** By the SHA-256 of an API key. */
	findKey(hash: string): Promise<KnownKey | undefined>;
	/** By its public id. */
	findProgramme(publicId: string): Promise<Programme | undefined>;
	/** For what is written without being announced: when it was used, and first. */
	forget(programmeId: number): void;
}

type Deps = Pick<AccountsDeps, "store" | "clock">;

export function createKnownCallers(deps: Deps): KnownCallers {
	const keys = createKeptReadings(deps, (hashes) => readKeys(deps, hashes));
	const programmes = createKeptReadings(deps, async (publicIds) => {
		const found = await findProgrammesByPublicId(deps.store.db, publicIds);
		return new Map(found.map((programme) => [programme.public_id, { programme }]));
	});
	return {
		findKey: (hash) => keys.find(hash),
		findProgramme: async (publicId) => (await programmes.find(publicId))?.programme,
		forget: (programmeId) => {
			keys.forget(programmeId);
			programmes.forget(programmeId);
		},
	};
}

async function readKeys({ store, clock }: Deps, hashes: readonly string[]): Promise<Map<string, KnownKey>> {
	const apiKeys = await findApiKeysByHash(store.db, hashes);
	const programmeIds = [...new Set(apiKeys.map((apiKey) => apiKey.programme_id))];
	const programmes = await findProgrammesById(store.db, programmeIds);
	const secrets = Map.groupBy(
		await findUsableSecrets(store.db, programmeIds, clock.nowMs()),
		(secret) => secret.receiver_id,
	);
	return new Map(
		apiKeys.flatMap((apiKey) => {
			const programme = programmes.get(apiKey.programme_id);
			if (programme === undefined) return [];
			return [[apiKey.hash, { apiKey, programme, secrets: secrets.get(programme.id) ?? [] }]];
		}),
	);
}
