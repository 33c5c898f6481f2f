// Audit entries about imported links and coupon codes. There is one for each partnership of a batch, because a file
// may have hundreds of thousands of lines.

import { noteAudits } from "#core/store/queries/audit.ts";
import type { Db } from "#core/store/store.ts";
import type { NamedPartnership } from "#modules/partners/store/partnerships.ts";
import type { ApplyDeps } from "./kind.ts";

/** Maximum number of links or codes that one audit entry names. */
const MAX_NAMED = 50;

export interface Imported {
	partnership: NamedPartnership;
	/** The code of the link, or the coupon code. */
	text: string;
}

export async function noteImported(
	trx: Db,
	{ clock, personId }: ApplyDeps,
	noun: "links" | "codes",
	imported: readonly Imported[],
): Promise<void> {
	const byPartnership = Map.groupBy(imported, ({ partnership }) => partnership.id);
	const notes = [...byPartnership.values()].flatMap((group) => {
		const [first] = group;
		if (first === undefined) return [];
		const { public_id, programme_id, partner_name } = first.partnership;
		const texts = group.slice(0, MAX_NAMED).map(({ text }) => text);
		const rest = group.length > MAX_NAMED ? ` and ${group.length - MAX_NAMED} more` : "";
		return {
			personId,
			programmeId: programme_id,
			action: "partnership.changed" as const,
			subject: public_id,
			detail: `${partner_name}; ${noun} imported: ${texts.join(", ")}${rest}`,
		};
	});
	await noteAudits(trx, notes, clock.nowMs());
}
