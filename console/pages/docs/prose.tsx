// A description with code in backticks. It stays text: no other markup is read.

export const Prose = ({ text }: { text: string }) => (
  <>
    {text.split(/\n{2,}/).map((paragraph, index) => (
      <p key={`${index} ${paragraph.slice(0, 20)}`}>
        {paragraph
          .split("`")
          .map((part, n) => (n % 2 === 1 ? <code key={`${n} ${part}`}>{part}</code> : part))}
      </p>
    ))}
  </>
);
