// Everything below /programmes/:programmeId/conversions.

import { bulkJobPath, bulkPath, conversionPath, conversionsPath } from "../paths.ts";
import { SMALL_FILES } from "../receive-file.ts";
import type { Route } from "../routes.ts";
import { applyDecisions, discardDecisions, showJob, showResult } from "./bulk-job-page.ts";
import { showUploadForm, uploadFile } from "./bulk-upload-page.ts";
import { showConversion } from "./conversion-page.ts";
import { decideConversion, decideSelected } from "./decide-action.ts";
import { showConversions, showExport } from "./list-page.ts";

const LIST = conversionsPath(":programmeId");
const BULK = bulkPath(":programmeId");
const JOB = bulkJobPath(":programmeId", ":jobId");
const CONVERSION = conversionPath(":programmeId", ":conversionId");

export const CONVERSION_ROUTES: readonly Route[] = [
	{ method: "GET", path: LIST, access: "programme", answer: showConversions },
	{ method: "POST", path: `${LIST}/decide`, access: "programme-decide", answer: decideSelected },
	{ method: "GET", path: `${LIST}/export.csv`, access: "programme", answer: showExport },
	{ method: "GET", path: BULK, access: "programme-decide", answer: showUploadForm },
	{ method: "POST", path: BULK, access: "programme-decide", takesFile: SMALL_FILES, answer: uploadFile },
	{ method: "GET", path: JOB, access: "programme-decide", answer: showJob },
	{ method: "GET", path: `${JOB}/result.csv`, access: "programme-decide", answer: showResult },
	{ method: "POST", path: `${JOB}/apply`, access: "programme-decide", answer: applyDecisions },
	{ method: "POST", path: `${JOB}/discard`, access: "programme-decide", answer: discardDecisions },
	{ method: "GET", path: CONVERSION, access: "programme", answer: showConversion },
	{ method: "POST", path: `${CONVERSION}/decide`, access: "programme-decide", answer: decideConversion },
];
