// "Check a signature" for a programme: with a secret that somebody pastes, or with the programme's own. Neither
// leaves this function, and nothing is stored.

import { openSecret } from "../domain/sealing.ts";
import { headerNames } from "../domain/signature.ts";
import {
	type Diagnosis,
	diagnoseSignature,
	type KnownSecret,
	type PastedRequest,
} from "../domain/signature-diagnosis.ts";
import { findUsableSecrets } from "../store/keys.ts";
import { type Programme, presentUrl } from "../store/programmes.ts";
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
	const own: KnownSecret[] = stored.flatMap(({ sealed, replaced_at_ms: replacedAtMs }) => {
		const text = openSecret(sealingKey, programme.id, sealed);
		const name =
			replacedAtMs === null
				? "the programme's present secret"
				: `the programme's previous secret, replaced on ${new Date(replacedAtMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
		return text === null ? [] : [{ text, name }];
	});
	const given =
		pastedSecret.trim() === "" ? [] : [{ text: pastedSecret.trim(), name: "the secret you pasted" }];
	return diagnoseSignature(pasted, {
		names: headerNames(deps.brand),
		secrets: [...given, ...own],
		origins: [deps.publicUrl, ...(url === undefined ? [] : [new URL(url).origin])],
		nowMs: clock.nowMs(),
	});
}
