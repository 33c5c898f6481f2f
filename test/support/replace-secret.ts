// Replaces a signing secret in one call, for tests of what happens after the replacement.

import { type Result, succeed } from "#core/domain/fault.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { activateSecret, prepareSecret } from "#core/programmes/signing-secret.ts";

/** Replaces the secret. Resolves to the new secret, which signs all later callbacks. */
export async function replaceSecret(deps: AccountsDeps, programmeId: string): Promise<Result<string>> {
	const prepared = await prepareSecret(deps, programmeId, COMMAND_LINE);
	if (!prepared.ok) return prepared;
	const activated = await activateSecret(deps, programmeId, prepared.value.secretId, COMMAND_LINE);
	return activated.ok ? succeed(prepared.value.secret) : activated;
}
