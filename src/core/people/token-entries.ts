// Writes the audit entries about API tokens. These entries also cause mails.

import { type TokenLabel, writeTokenLabel } from "../domain/api-token.ts";
import { noteAudit } from "../store/queries/audit.ts";
import type { Db } from "../store/store.ts";
import type { Partner } from "../store/tables/partners.ts";

/** Writes an audit entry about a token. It causes a mail to the staff or to the partner's people. */
export function noteToken(
	trx: Db,
	personId: number | null,
	owner: Pick<Partner, "public_id"> | null,
	row: TokenLabel & { public_id: string },
	verb: "issued" | "revoked",
	nowMs: number,
): Promise<void> {
	// The entry names the partner as its subject, because that is how its people are found for the mail.
	const note =
		owner === null
			? ({ action: `network_token.${verb}`, subject: row.public_id } as const)
			: ({ action: `partner_token.${verb}`, subject: owner.public_id } as const);
	return noteAudit(trx, { personId, ...note, detail: writeTokenLabel(row) }, nowMs);
}
