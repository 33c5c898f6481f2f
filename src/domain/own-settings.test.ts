import assert from "node:assert/strict";
import { test } from "node:test";
import { DATE_LOCALES, isDateLocale } from "./own-settings.ts";

test("every language of dates is one that dates can be written in", () => {
	for (const locale of Object.keys(DATE_LOCALES)) {
		assert.ok(isDateLocale(locale));
		assert.deepEqual(Intl.DateTimeFormat.supportedLocalesOf([locale]), [locale]);
	}
	for (const text of ["", "en", "de-de", "toString", "xx-XX"]) assert.equal(isDateLocale(text), false, text);
});
