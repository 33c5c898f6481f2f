// "Check a signature" for a programme: with a secret that somebody pastes, or with the programme's own. Neither
// leaves this function, and nothing is stored.

import { openSecret } from "../domain/sealing.ts";
import { headerNames } from "../domain/signature.ts";
import { type Diagnosis, diagnoseSignature, type PastedRequest } from "../domain/signature-diagnosis.ts";
import { type KnownSecret, utcMinute } from "../domain/signature-secrets.ts";
import { findUsableSecrets } from "../store/keys.ts";
import { type Programme, presentUrl } from "../store/programmes.ts";
import { REPLACED_SECRET_GRACE_MS } from "./authenticate.ts";
import type { AccountsDeps } from "./deps.ts";

/** Older ones than these were replaced so long ago that nobody has them. */
const MAX_SECRETS_TRIED = 4;

export async function checkSignature(
	deps: Pick<AccountsDeps, "store" | "clock" | "sealingKey"> & { brand: string; publicUrl: string },
	programme: Programme,
	pasted: PastedRequest,
	pastedSecret: string,
): Promise<Diagnosis> {
	const { store, clock, sealingKey } = deps;
	const url = await presentUrl(store.db, programme.id);
	const stored = (await findUsableSecrets(store.db, programme.id, 0)).slice(0, MAX_SECRETS_TRIED);
	const given =
		pastedSecret.trim() === "" ? [] : [{ text: pastedSecret.trim(), name: "the secret you pasted" }];
	const own: KnownSecret[] = stored.flatMap(({ sealed, replaced_at_ms: replacedAtMs }) => {
		const text = openSecret(sealingKey, programme.id, sealed);
		if (text === null) return [];
		if (replacedAtMs === null) return [{ text, name: "the programme's present secret" }];
		const name = `the programme's previous secret, replaced on ${utcMinute(replacedAtMs)}`;
		// Whoever pastes a secret asks about that one.
		return [
			given.length > 0
				? { text, name }
				: { text, name, goodUntilMs: replacedAtMs + REPLACED_SECRET_GRACE_MS },
		];
	});
	return diagnoseSignature(pasted, {
		names: headerNames(deps.brand),
		secrets: [...given, ...own],
		origins: [deps.publicUrl, ...(url === undefined ? [] : [new URL(url).origin])],
		nowMs: clock.nowMs(),
	});
}
