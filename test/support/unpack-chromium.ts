// Unpacks the Chromium that came from npm into the temporary folder of this process: a process of its own,
// because the package knows no other place, and whoever asks meanwhile would be given half a browser.

import chromium from "@sparticuz/chromium";

await chromium.executablePath();
