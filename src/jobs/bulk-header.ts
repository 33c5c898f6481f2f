// Which column of a file is which: our own names, and what spreadsheets and shops in Europe call them.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { foldText } from "../domain/folded-text.ts";

export type Column = "conversionId" | "orderId" | "eventType" | "decision" | "reason";

/** Compared without case, accents, spaces and signs: "Order ID", "order_id" and "N° de commande" are in it. */
const NAMES: Readonly<Record<Column, readonly string[]>> = {
	conversionId: ["conversionId", "conversion"],
	orderId: [
		"orderId",
		"order",
		"order number",
		"order no",
		// German, French, Spanish, Italian, Dutch.
		"Bestellnummer",
		"Bestellung",
		"Auftragsnummer",
		"commande",
		"numéro de commande",
		"n° de commande",
		"pedido",
		"número de pedido",
		"n.º de pedido",
		"ordine",
		"numero ordine",
		"numero d'ordine",
		"bestelling",
		"bestelnummer",
		"ordernummer",
	],
	eventType: ["eventType"],
	decision: ["decision", "Entscheidung", "décision", "decisión", "decisione", "beslissing", "besluit"],
	reason: ["reason", "Grund", "Begründung", "raison", "motif", "motivo", "razón", "reden"],
};

const COLUMNS: ReadonlyMap<string, Column> = new Map(
	(["conversionId", "orderId", "eventType", "decision", "reason"] as const).flatMap((column) =>
		NAMES[column].map((name) => [plainName(name), column] as const),
	),
);

/** The other columns of our own export, so that a downloaded file can come back with a decision column. */
const EXPORT_COLUMNS: ReadonlySet<string> = new Set(
	[
		"status",
		"basketValue",
		"commission",
		"networkFee",
		"currency",
		"decidedBy",
		"source",
		"test",
		"occurredAt",
		"recordedAt",
		"approvesAt",
		"pixelBasketValue",
	].map(plainName),
);

export const HEADER_ADVICE =
	"The first line must name the columns: decision, and conversionId or orderId; if needed also eventType and reason.";

export function readHeader(cells: readonly string[]): Result<ReadonlyMap<Column, number>> {
	const positions = new Map<Column, number>();
	for (const [position, cell] of cells.entries()) {
		const name = plainName(cell);
		const column = COLUMNS.get(name);
		if (column === undefined) {
			if (name === "" || EXPORT_COLUMNS.has(name)) continue;
			const shown = cell.trim().slice(0, 40);
			return refuse("malformed_file", `Line 1: there is no column “${shown}”. ${HEADER_ADVICE}`, "file");
		}
		if (positions.has(column)) {
			return refuse("malformed_file", `Line 1: the column ${column} is there twice. Keep one.`, "file");
		}
		positions.set(column, position);
	}
	if (!positions.has("decision")) {
		return refuse("malformed_file", `Line 1: the column decision is missing. ${HEADER_ADVICE}`, "file");
	}
	if (!positions.has("conversionId") && !positions.has("orderId")) {
		const missing = "there is neither a column conversionId nor a column orderId";
		return refuse("malformed_file", `Line 1: ${missing}. ${HEADER_ADVICE}`, "file");
	}
	return succeed(positions);
}

function plainName(text: string): string {
	return foldText(text).replace(/[\s_.'’°º-]/gu, "");
}
