// Imports coupon codes of partners from other software. Codes are compared as in sale reports, so upper and lower
// case are the same. A code belongs to one partner of a programme.

import { refuse, succeed } from "#core/domain/fault.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { countCodes, findCodes, insertCodes } from "#modules/partners/store/coupon-codes.ts";
import { listPartnerships } from "#modules/partners/store/partnerships.ts";
import { MAX_CODES, readCodes } from "#modules/partners/use-cases/partnerships.ts";
import { defineImport, type Meant } from "./define-import.ts";
import { PROGRAMME_COLUMN } from "./imported-sale.ts";
import { cellOf, needsFixing, needsNoChange } from "./kind.ts";
import { PARTNER_COLUMN } from "./named-partners.ts";

interface MeantCode extends Meant {
	/** The code in the form in which codes are compared. */
	folded: string;
}

/** Coupon codes in the database, and those that earlier lines of this batch will add. */
interface Present {
	/** Ids of partnerships by coupon code. */
	owners: Map<string, number>;
	/** Number of codes by the id of the partnership. */
	counts: Map<number, number>;
	/** Names of partners by the id of the partnership. */
	names: ReadonlyMap<number, string>;
}

export const CODES_IMPORT = defineImport<MeantCode, null, Present>({
	name: "codes",
	noun: ["coupon code", "coupon codes"],
	hint: "One line per coupon code. Sales with the code credit the partner.",
	importSummary: "Imports coupon codes of partners from other software.",
	columns: [
		PARTNER_COLUMN,
		PROGRAMME_COLUMN,
		{ name: "code", means: "The coupon code that buyers enter. Upper and lower case are the same." },
	],
	example: `partner;programme;code
Bergblog;Garden Shop;BERG10
Deal Finder;Garden Shop;DEALS-2026`,
	advice:
		"Sales with these codes credit the partner from now on. Codes can be removed on the partnership's page.",
	keyOf: (cells) => [cellOf(cells, "programme"), foldCode(cellOf(cells, "code"))].join("\n"),

	find: async () => null,

	read(cells, agreement) {
		const codes = readCodes(cellOf(cells, "code"));
		if (!codes.ok) return codes;
		const [only, another] = [...codes.value];
		if (only === undefined) return refuse("invalid_field", "The code is missing.", "code");
		if (another !== undefined) {
			const detail = "A line has one code, without commas and semicolons. Write one line for each code.";
			return refuse("invalid_field", detail, "code");
		}
		const [folded, code] = only;
		return succeed({ ...agreement, code, folded });
	},

	async findPresent(db, lines) {
		const found = await findCodes(
			db,
			[...new Set(lines.map(({ programme }) => programme.id))],
			[...new Set(lines.map(({ folded }) => folded))],
		);
		const owners = new Map(found.map((code) => [keyOf(code.programme_id, code.folded), code.partnership_id]));
		const ids = [...new Set([...owners.values(), ...lines.map(({ partnership }) => partnership.id)])];
		const partnerships = await listPartnerships(db, "id", ids);
		const names = new Map(partnerships.map(({ id, partner_name }) => [id, partner_name]));
		return { owners, names, counts: new Map(await countCodes(db, ids)) };
	},

	compare({ programme, partnership, code, folded }, { owners, counts, names }) {
		const key = keyOf(programme.id, folded);
		const owner = owners.get(key);
		if (owner === partnership.id) return needsNoChange();
		if (owner !== undefined) {
			return needsFixing(
				`The code ${code} belongs to ${names.get(owner) ?? "another partner"} already. Remove it there first, or remove the line.`,
			);
		}
		const count = counts.get(partnership.id) ?? 0;
		if (count >= MAX_CODES) {
			return needsFixing(
				`${partnership.partner_name} has ${MAX_CODES} codes in this programme, and no partner has more. Remove some on the partnership's page first.`,
			);
		}
		counts.set(partnership.id, count + 1);
		owners.set(key, partnership.id);
		return null;
	},

	async make(trx, lines, nowMs) {
		const inserted = await insertCodes(
			trx,
			lines.map(({ programme, partnership, code, folded }) => ({
				...{ code, folded },
				programme_id: programme.id,
				partnership_id: partnership.id,
				created_at_ms: nowMs,
			})),
		);
		const keys = new Set(inserted.map(({ programme_id, folded }) => keyOf(programme_id, folded)));
		return ({ programme, folded }) => keys.has(keyOf(programme.id, folded));
	},

	sayTaken: ({ code }) => `Another partner got the code ${code} a moment ago. Remove it there first.`,
});

function keyOf(programmeId: number, folded: string): string {
	return `${programmeId} ${folded}`;
}
