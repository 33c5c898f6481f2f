// Everything below /programmes/:programmeId/conversions, but for jobs of many decisions: see jobs/.

import { conversionPath, conversionsPath } from "../paths.ts";
import type { Route } from "../routes.ts";
import { showConversion } from "./conversion-page.ts";
import { decideConversion, decideSelected } from "./decide-action.ts";
import { showConversions, showExport } from "./list-page.ts";

const LIST = conversionsPath(":programmeId");
const CONVERSION = conversionPath(":programmeId", ":conversionId");

export const CONVERSION_ROUTES: readonly Route[] = [
	{ method: "GET", path: LIST, access: "programme", answer: showConversions },
	{ method: "POST", path: `${LIST}/decide`, access: "programme-decide", answer: decideSelected },
	{ method: "GET", path: `${LIST}/export.csv`, access: "programme", answer: showExport },
	{ method: "GET", path: CONVERSION, access: "programme", answer: showConversion },
	{ method: "POST", path: `${CONVERSION}/decide`, access: "programme-decide", answer: decideConversion },
];
