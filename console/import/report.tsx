// How an import or its dry run goes: a progress bar, the counts, and every rejected record.

import { formatNumber } from "../ui/format.ts";
import { ScrollBox } from "../ui/scroll-box.tsx";
import { type ImportProgress, maxRejections, type Rejection } from "./send.ts";

interface ReportProps {
  readonly progress: ImportProgress;
  readonly isDryRun: boolean;
  readonly isRunning: boolean;
}

export function Report({ progress, isDryRun, isRunning }: ReportProps) {
  const { share, records, created, replaced, rejected, rejections } = progress;
  const would = isDryRun ? "would be " : "";
  return (
    <div class="import-report">
      {isRunning && (
        <progress aria-label={isDryRun ? "Trying" : "Importing"} value={share} max={1}>
          {Math.round(share * 100)} %
        </progress>
      )}
      <p role="status">
        {formatNumber(records)} records: {formatNumber(created)} {would}created,{" "}
        {formatNumber(replaced)} {would}replaced, {formatNumber(rejected)} rejected.
        {isDryRun && !isRunning && " Nothing was written."}
      </p>
      {rejections.length > 0 && <Rejections list={rejections} total={rejected} />}
    </div>
  );
}

const Rejections = ({ list, total }: { list: readonly Rejection[]; total: number }) => (
  <ScrollBox label="Rejected records">
    <table class="table">
      <caption class="hidden-text">Rejected records</caption>
      <thead>
        <tr>
          <th scope="col" class="number">
            Line
          </th>
          <th scope="col">Field</th>
          <th scope="col">What is wrong</th>
        </tr>
      </thead>
      <tbody>
        {list.flatMap(({ line, detail, errors }) =>
          (errors.length > 0 ? errors : [{ pointer: "", detail }]).map((error, index) => (
            <tr key={`${line} ${index}`}>
              <td class="number">{formatNumber(line)}</td>
              <td>
                <code>{error.pointer ?? ""}</code>
              </td>
              <td>{error.detail}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
    {total > maxRejections && (
      <p class="faint">The first {formatNumber(maxRejections)} are shown.</p>
    )}
  </ScrollBox>
);
