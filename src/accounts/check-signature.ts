// "Check a signature" for a programme: with a secret that somebody pastes, or with the programme's own. Neither
// leaves this function, and nothing is stored.

import { openSecret } from "../domain/sealing.ts";
import { headerNames } from "../domain/signature.ts";
import { type Diagnosis, diagnoseSignature, type PastedRequest } from "../domain/signature-diagnosis.ts";
import type { KnownSecret } from "../domain/signature-secrets.ts";
import { utcMinute } from "../domain/time.ts";
import { type Programme, presentUrl } from "../store/programmes.ts";
import {
	findUsableSecrets,
	goodUntilMs,
	listEndedSecrets,
	type SigningSecret,
	stateOf,
} from "../store/signing-secrets.ts";
import type { AccountsDeps } from "./deps.ts";

/** Of those that are good for nothing any more; older ones ended so long ago that nobody has them. */
const MAX_ENDED_TRIED = 4;

export async function checkSignature(
	deps: Pick<AccountsDeps, "store" | "clock" | "sealingKey"> & { brand: string; publicUrl: string },
	programme: Programme,
	pasted: PastedRequest,
	pastedSecret: string,
): Promise<Diagnosis> {
	const { store, clock, sealingKey } = deps;
	const nowMs = clock.nowMs();
	const url = await presentUrl(store.db, programme.id);
	const stored = [
		...(await findUsableSecrets(store.db, [programme.id], nowMs)),
		...(await listEndedSecrets(store.db, programme.id, nowMs, MAX_ENDED_TRIED)),
	];
	const own = stored.flatMap((secret) => {
		const text = openSecret(sealingKey, programme.id, secret.sealed);
		return text === null ? [] : [nameSecret(secret, text, nowMs)];
	});
	const given = pastedSecret.trim();
	return diagnoseSignature(pasted, {
		names: headerNames(deps.brand),
		secrets: given === "" ? own : askAbout(given, own),
		origins: [deps.publicUrl, ...(url === undefined ? [] : [new URL(url).origin])],
		nowMs,
	});
}

function nameSecret(secret: SigningSecret, text: string, nowMs: number): KnownSecret {
	const { activated_at_ms, replaced_at_ms, ended_at_ms } = secret;
	const wasReplaced =
		replaced_at_ms === null
			? ""
			: `the programme's previous secret, replaced on ${utcMinute(replaced_at_ms)}`;
	switch (stateOf(secret, nowMs)) {
		case "active":
			return { text, name: "the programme's active secret", standing: { kind: "right" } };
		case "prepared":
			return {
				text,
				name: "the programme's prepared secret, which is not active yet",
				standing: { kind: "prepared" },
			};
		case "replaced":
			return {
				text,
				name: wasReplaced,
				standing: { kind: "replaced", goodUntilMs: goodUntilMs(secret) ?? 0 },
			};
		case "ended": {
			const atMs = ended_at_ms ?? goodUntilMs(secret) ?? 0;
			const name = activated_at_ms === null ? "a prepared secret that was discarded" : wasReplaced;
			return { text, name, standing: { kind: "ended", atMs } };
		}
	}
}

/** Checked with the secret that was pasted; the programme's own are tried only to say which one it was instead. */
function askAbout(given: string, own: readonly KnownSecret[]): KnownSecret[] {
	const known = own.find(({ text }) => text === given);
	const asked: KnownSecret =
		known === undefined
			? { text: given, name: "the secret you pasted", standing: { kind: "right" } }
			: { ...known, name: `the secret you pasted, ${known.name}` };
	const others = own.filter((secret) => secret !== known);
	return [asked, ...others.map((secret) => ({ ...secret, standing: { kind: "other" } as const }))];
}
