import { findNamedCredits, type NamedCredit } from "#modules/partners/store/credits.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	NEWEST_FIRST,
	readAllConversions,
} from "../store/queries/conversion-list.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { CSV_BATCH_ROWS, type CsvColumns, type CsvForm, csvFile, PLAIN_FORM } from "./csv-file.ts";

const COLUMNS: CsvColumns<Conversion> = [
	["orderId", (row) => row.order_id],
	["eventType", (row) => row.event_type],
	["status", (row) => row.status],
	["basketValue", (row) => row.basket_value, "amount"],
	["refundedValue", (row) => row.refunded_value ?? "", "amount"],
	["commission", (row) => row.commission, "amount"],
	["networkFee", (row) => row.network_fee, "amount"],
	["currency", (row) => row.currency],
	["reason", (row) => row.reason ?? ""],
	["decidedBy", (row) => row.decided_by ?? ""],
	["source", (row) => row.source],
	["test", (row) => (row.test === 1 ? "true" : "false")],
	["pixelBasketValue", (row) => row.pixel_basket_value ?? "", "amount"],
	["occurredAt", (row) => row.occurred_at_ms, "time"],
	["recordedAt", (row) => row.created_at_ms, "time"],
	["approvesAt", (row) => (row.status === "RECORDED" ? row.window_ends_at_ms : null), "time"],
	["decidedAt", (row) => row.decided_at_ms, "time"],
	["conversionId", (row) => row.public_id],
];

type Credited = Conversion & { credit: NamedCredit | undefined };

/** Additional columns of a programme that credits partners. */
const PARTNER_COLUMNS: CsvColumns<Credited> = [
	["partner", ({ credit }) => credit?.partnership?.partner_name ?? ""],
	["partnerId", ({ credit }) => credit?.partnership?.partner_public_id ?? ""],
	["credit", ({ credit }) => credit?.word ?? ""],
	["s1", ({ credit }) => credit?.sub_1 ?? ""],
	["s2", ({ credit }) => credit?.sub_2 ?? ""],
	["s3", ({ credit }) => credit?.sub_3 ?? ""],
];

export function exportConversions(
	db: Db,
	filter: ConversionFilter,
	sort: ConversionSort = NEWEST_FIRST,
	form: CsvForm = PLAIN_FORM,
	namesPartners = false,
): AsyncGenerator<string> {
	const batches = readAllConversions(db, filter, CSV_BATCH_ROWS, sort);
	if (!namesPartners) return csvFile(COLUMNS, batches, form);
	return csvFile([...COLUMNS, ...PARTNER_COLUMNS], addCredits(db, batches), form);
}

type OfProgramme = Credited & { programme: Programme | undefined };

const PROGRAMME_COLUMNS: CsvColumns<OfProgramme> = [
	["programme", ({ programme }) => programme?.name ?? ""],
	["programId", ({ programme }) => programme?.public_id ?? ""],
];

/** Exports conversions of all programmes. The first columns name the programme of each conversion. */
export function exportAllConversions(
	db: Db,
	filter: ConversionFilter,
	sort: ConversionSort,
	form: CsvForm,
): AsyncGenerator<string> {
	const batches = addCredits(db, readAllConversions(db, filter, CSV_BATCH_ROWS, sort));
	return csvFile([...PROGRAMME_COLUMNS, ...COLUMNS, ...PARTNER_COLUMNS], addProgrammes(db, batches), form);
}

async function* addProgrammes(db: Db, batches: AsyncIterable<readonly Credited[]>) {
	for await (const rows of batches) {
		const ids = new Set(rows.map(({ programme_id }) => programme_id));
		const programmes = await findProgrammesById(db, [...ids]);
		yield rows.map((row): OfProgramme => ({ ...row, programme: programmes.get(row.programme_id) }));
	}
}

async function* addCredits(db: Db, batches: AsyncIterable<readonly Conversion[]>) {
	for await (const rows of batches) {
		const ids = rows.map(({ id }) => id);
		const credits = await findNamedCredits(db, ids);
		yield rows.map((row): Credited => ({ ...row, credit: credits.get(row.id) }));
	}
}
