// The audit entries about API tokens, which are also mailed.

import { type TokenLabel, writeTokenLabel } from "../domain/api-token.ts";
import { noteAudit } from "../store/queries/audit.ts";
import type { Db } from "../store/store.ts";
import type { Partner } from "../store/tables/partners.ts";

/** Writes the entry about a token. The staff or the partner's people are mailed about it. */
export function noteToken(
	trx: Db,
	personId: number | null,
	owner: Pick<Partner, "public_id"> | null,
	row: TokenLabel & { public_id: string },
	verb: "issued" | "revoked",
	nowMs: number,
): Promise<void> {
	// The subject of a partner's token is the partner, because its people are found by it.
	const note =
		owner === null
			? ({ action: `network_token.${verb}`, subject: row.public_id } as const)
			: ({ action: `partner_token.${verb}`, subject: owner.public_id } as const);
	return noteAudit(trx, { personId, ...note, detail: writeTokenLabel(row) }, nowMs);
}
