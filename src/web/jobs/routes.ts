// Many lines at once: decisions of a programme, and for staff what comes from other software.

import type { JobKind } from "../../jobs/kind.ts";
import { IMPORT_KINDS, JOB_KINDS } from "../../jobs/kinds.ts";
import { bulkJobPath, bulkPath, IMPORT_PATH, importJobPath, importKindPath } from "../paths.ts";
import { type FileBounds, IMPORT_FILES, SMALL_FILES } from "../receive-file.ts";
import type { Route } from "../routes.ts";
import { applyJobPage, discardJobPage, showJob, showResultFile, stopJobPage } from "./job-page.ts";
import { receiveUpload, showTemplate, showUploadPage } from "./upload-page.ts";

type Access = Route["access"];

function uploadRoutes(kind: JobKind, path: string, access: Access, takesFile: FileBounds): Route[] {
	return [
		{ method: "GET", path, access, answer: showUploadPage(kind) },
		{ method: "POST", path, access, takesFile, answer: receiveUpload(kind) },
		{ method: "GET", path: `${path}/template.csv`, access, answer: showTemplate(kind) },
	];
}

function jobRoutes(path: string, access: Access): Route[] {
	return [
		{ method: "GET", path, access, answer: showJob },
		{ method: "GET", path: `${path}/result.csv`, access, answer: showResultFile(false) },
		{ method: "GET", path: `${path}/problems.csv`, access, answer: showResultFile(true) },
		{ method: "POST", path: `${path}/apply`, access, answer: applyJobPage },
		{ method: "POST", path: `${path}/stop`, access, answer: stopJobPage },
		{ method: "POST", path: `${path}/discard`, access, answer: discardJobPage },
	];
}

export const JOB_ROUTES: readonly Route[] = [
	{
		method: "GET",
		path: IMPORT_PATH,
		access: "staff",
		answer: (c) => c.redirect(importKindPath("programmes"), 303),
	},
	...IMPORT_KINDS.flatMap((name) =>
		uploadRoutes(JOB_KINDS[name], importKindPath(name), "staff", IMPORT_FILES),
	),
	...jobRoutes(importJobPath(":importId"), "staff"),
	...uploadRoutes(JOB_KINDS.decisions, bulkPath(":programmeId"), "programme-decide", SMALL_FILES),
	...jobRoutes(bulkJobPath(":programmeId", ":jobId"), "programme-decide"),
];
