import { equal } from "node:assert/strict";
import { test } from "node:test";
import { csvCell, csvLine, defuseCell, undoDefusing } from "./csv-cell.ts";

for (const formula of [
	"=1+1",
	"+1",
	"-1",
	"@SUM(A1)",
	"\t=1",
	"\r=1",
	"\n=1",
	"＝1+1",
	"'=1",
	'=HYPERLINK("https://evil.example")',
]) {
	test(`${JSON.stringify(formula)} is defused and comes back as it was`, () => {
		equal(defuseCell(formula), `'${formula}`);
		equal(undoDefusing(defuseCell(formula)), formula);
	});
}

for (const plain of ["A-1", "100.00", "", "'quoted'", "1=1", " =1"]) {
	test(`${JSON.stringify(plain)} is left as it is`, () => {
		equal(defuseCell(plain), plain);
		equal(undoDefusing(plain), plain);
	});
}

test("cells with separators, quotes or line ends are quoted, and quotes doubled", () => {
	equal(csvCell("a,b"), '"a,b"');
	equal(csvCell("a;b"), '"a;b"');
	equal(csvCell('say "hi"'), '"say ""hi"""');
	equal(csvCell("two\nlines"), '"two\nlines"');
	equal(csvCell("=1,2"), `"'=1,2"`);
});

test("a line ends with CR LF", () => {
	equal(csvLine(["a", "b c", ""]), "a,b c,\r\n");
});
