// Reads the amounts that people see: tables of pages, and CSV files.

/** Returns the rows of the table with this caption, as the text of each cell by its column. Empty if there is no table. */
export function readTable(page: string, caption: string): Record<string, string>[] {
	const table = page
		.split("<table")
		.find((part) => part.includes(`<caption class="visually-hidden">${caption}</caption>`));
	if (table === undefined) return [];
	const [head = "", ...rows] = table.slice(0, table.indexOf("</table>")).split(/<tr\b/).slice(1);
	const titles = cellsOf(head, "th");
	return rows.map((row) => {
		const cells = cellsOf(row, "td");
		return Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? ""]));
	});
}

function cellsOf(row: string, tag: "td" | "th"): string[] {
	const cells = row.split(new RegExp(`<${tag}\\b[^>]*>`)).slice(1);
	return cells.map((cell) => plain(cell.slice(0, cell.indexOf(`</${tag}>`))));
}

/** Removes the markup and repeated spaces. */
export function plain(html: string): string {
	const text = html
		.replace(/<[^>]*>/g, " ")
		.replace(/\s+/g, " ")
		.trim();
	return text.replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

/** Returns the first amount in a text, without the commas between thousands, such as "1000.25 EUR". */
export function amountIn(text: string): string {
	const [, amount = "", currency = ""] = /(-?[\d,]+(?:\.\d+)?) ([A-Z]{3})/.exec(text) ?? [];
	return `${amount.replaceAll(",", "")} ${currency}`;
}

/** Reads a CSV file with commas. Each line has its cells by the names of the columns. */
export function readCsv(text: string): Record<string, string>[] {
	const [header = [], ...lines] = text
		.replace(/^\u{FEFF}/u, "")
		.trimEnd()
		.split("\r\n")
		.map(splitLine);
	return lines.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ""])));
}

function splitLine(line: string): string[] {
	// Each cell begins after a comma, also the first one.
	const cells = `,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g);
	return Array.from(cells, ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? "");
}
